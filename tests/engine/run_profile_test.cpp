// A profile of two arms: they take turns over the same positions and count only their own work.
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <string>

#include "engine/run/model.h"
#include "engine/run/profile.h"
#include "kernels/registry/cpu.h"
#include "tests/support/tiny_models.h"

namespace steady {
namespace {

struct Seen {
    std::string order;  // which arm decoded, token by token
    std::array<Profile, 2> profiles;
};

Seen profiled(std::size_t n_prompt, std::size_t n_counted, std::int64_t depth = 0) {
    Model model(tiny::path("tiny-glm"));
    auto arms = model.make_arms({ArmOptions{}, ArmOptions{}}, 128);
    Seen seen;
    for (std::size_t i = 0; i < 2; ++i) {
        arms[i]->trace = [&, i](std::string_view name, std::int64_t block, auto /*values*/) {
            if (name == "attn_norm" && block == 0) seen.order += i == 0 ? 'A' : 'B';
        };
    }
    const std::vector<std::int32_t> tokens(n_prompt + n_counted, 7);
    seen.profiles =
        profile_in_turns(*arms[0], *arms[1], tokens, static_cast<std::int64_t>(n_prompt), depth);
    return seen;
}

std::string repeated(const std::string& part, int n) {
    std::string all;
    for (int i = 0; i < n; ++i) all += part;
    return all;
}

TEST(Profile, ArmsTakeTurnsInEqualRounds) {
    EXPECT_EQ(profiled(2, 16).order, "AABB" + repeated("AABBBBAA", 4));
    EXPECT_EQ(profiled(1, 4).order, "AB" + repeated("ABBA", 2));
    EXPECT_EQ(profiled(1, 6).order, "AB" + repeated("AAABBBBBBAAA", 1));
    EXPECT_EQ(profiled(1, 3).order, "AB" + repeated("AAABBB", 1));  // one round
}

// Counts and bytes do not depend on how the tokens are cut, nor on the other arm.
TEST(Profile, CountsAreThoseOfOneRound) {
    Model model(tiny::path("tiny-glm"));
    auto arms = model.make_arms({ArmOptions{}}, 128);
    const std::vector<std::int32_t> tokens(3 + 16, 7);
    const Profile whole = profile_decode(*arms[0], tokens, 3, 20);
    std::map<std::string, protocol::ProfileRow> expected;
    for (const protocol::ProfileRow& row : whole.rows) expected[row.op] = row;
    for (const Profile& profile : profiled(3, 16, 20).profiles) {
        EXPECT_EQ(profile.launches_per_token, whole.launches_per_token);
        EXPECT_EQ(profile.barriers_per_token, whole.barriers_per_token);
        ASSERT_EQ(profile.rows.size(), expected.size());
        for (const protocol::ProfileRow& row : profile.rows) {
            EXPECT_EQ(row.variant, expected.at(row.op).variant);
            EXPECT_EQ(row.calls_per_token, expected.at(row.op).calls_per_token) << row.op;
            EXPECT_EQ(row.bytes_per_token, expected.at(row.op).bytes_per_token) << row.op;
            EXPECT_GT(row.ns_per_token, 0) << row.op;
        }
    }
}

// Memory does not limit what stays in the cache, so its speed is not measured then.
TEST(Profile, MemoryIsReadForWeightsThatExceedTheCache) {
    Model model(tiny::path("tiny-glm"));
    auto arms = model.make_arms({ArmOptions{}}, 8);
    const std::int64_t cache = cpu::last_level_cache_bytes();
    EXPECT_EQ(memory_read_gb_per_s(*arms[0], cache, 1), 0);
    EXPECT_GT(memory_read_gb_per_s(*arms[0], cache + 1, 1), 0);
}

}  // namespace
}  // namespace steady
