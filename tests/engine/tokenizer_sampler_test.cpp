// The sampler keeps to its options, repeats itself with a seed, and is not shaken by NaN.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <set>

#include "engine/text/sampler.h"
#include "kernels/base/error.h"

namespace steady::test {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

TEST(Sampler, GreedyTakesTheFirstLargest) {
    EXPECT_EQ(greedy_token(std::array{1.0F, 3.0F, 3.0F, 2.0F}), 1);
    EXPECT_EQ(greedy_token(std::array{-kInf, -1.0F}), 1);
    EXPECT_EQ(greedy_token(std::array{kNan, -5.0F, kNan}), 1);
    EXPECT_EQ(greedy_token(std::array{-kInf, -kInf}), 0);
    EXPECT_EQ(greedy_token(std::array{1.0F, kInf}), 1);
}

TEST(Sampler, RefusesLogitsWithoutANumber) {
    EXPECT_THROW(greedy_token(std::array{kNan, kNan}), Error);
    EXPECT_THROW(greedy_token({}), Error);
    Sampler sampler({.temperature = 1.0F}, 2);
    EXPECT_THROW(sampler.pick(std::array{kNan, kNan}), Error);
}

TEST(Sampler, RefusesOptionsOutOfRange) {
    for (const float bad : {-1.0F, kNan, kInf}) {
        EXPECT_THROW(Sampler({.temperature = bad}, 4), Error);
    }
    for (const float bad : {0.0F, -0.5F, 1.5F, kNan}) {
        EXPECT_THROW(Sampler({.temperature = 1.0F, .top_p = bad}, 4), Error);
    }
    EXPECT_THROW(Sampler({.top_k = -1}, 4), Error);
}

std::vector<int> counts(const SamplerOptions& options, const std::vector<float>& logits, int n) {
    Sampler sampler(options, static_cast<std::int32_t>(logits.size()));
    std::vector<int> count(logits.size(), 0);
    for (int i = 0; i < n; ++i) ++count[static_cast<std::size_t>(sampler.pick(logits))];
    return count;
}

// 20 000 draws: a share of p deviates by less than 5 standard errors.
TEST(Sampler, DrawsBySoftmax) {
    const std::vector<float> logits{0.0F, std::log(2.0F), std::log(5.0F), kNan, -kInf};
    const auto count = counts({.temperature = 1.0F, .seed = 3}, logits, 20000);
    EXPECT_NEAR(count[0], 2500, 5 * std::sqrt(20000 * 0.125 * 0.875));
    EXPECT_NEAR(count[1], 5000, 5 * std::sqrt(20000 * 0.25 * 0.75));
    EXPECT_NEAR(count[2], 12500, 5 * std::sqrt(20000 * 0.625 * 0.375));
    EXPECT_EQ(count[3] + count[4], 0);
}

TEST(Sampler, TemperatureSharpens) {
    const std::vector<float> logits{0.0F, 1.0F};
    EXPECT_GT(counts({.temperature = 0.1F}, logits, 1000)[1], 990);
    EXPECT_GT(counts({.temperature = 100.0F}, logits, 1000)[0], 400);
}

TEST(Sampler, TopKAndTopPCutTheTail) {
    const std::vector<float> logits{1.0F, 4.0F, 3.0F, 2.0F};
    const auto two = counts({.temperature = 5.0F, .top_k = 2}, logits, 2000);
    EXPECT_EQ(two[0] + two[3], 0);
    EXPECT_GT(two[2], 0);
    // Shares at temperature 1: 0.64, 0.24, 0.09, 0.03.
    const auto nucleus = counts({.temperature = 1.0F, .top_p = 0.7F}, logits, 2000);
    EXPECT_EQ(nucleus[0] + nucleus[3], 0);
    EXPECT_GT(nucleus[2], 0);
    const auto one = counts({.temperature = 1.0F, .top_p = 0.0001F}, logits, 100);
    EXPECT_EQ(one[1], 100);
    const auto all = counts({.temperature = 5.0F, .top_k = 100}, logits, 2000);
    EXPECT_GT(all[0], 0);
}

TEST(Sampler, RepeatsItselfWithASeed) {
    const std::vector<float> logits(50, 0.0F);
    const auto draw = [&](std::uint64_t seed) {
        Sampler sampler({.temperature = 1.0F, .seed = seed}, 50);
        std::vector<std::int32_t> tokens;
        for (int i = 0; i < 20; ++i) tokens.push_back(sampler.pick(logits));
        return tokens;
    };
    EXPECT_EQ(draw(1), draw(1));
    EXPECT_NE(draw(1), draw(2));
}

TEST(Sampler, WithoutTemperatureIsGreedy) {
    Sampler sampler({.top_k = 3, .seed = 9}, 3);
    EXPECT_EQ(sampler.pick(std::array{0.0F, 0.1F, 0.0F}), 1);
}

}  // namespace
}  // namespace steady::test
