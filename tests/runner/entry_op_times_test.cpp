// What the processes of a profile tell of an op: a true change in spite of a noisy machine, no
// change where there is none, and nothing beyond a number where there was one process.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "runner/judge/op_times.h"

namespace steady {
namespace {

protocol::ProfileRow row(const std::string& op, std::vector<double> times) {
    const double first = times.empty() ? 100 : times.front();
    return {op, "some", 1, first, 0, std::move(times)};
}

OpTime only(std::vector<double> a, std::vector<double> b) {
    protocol::ProfileReply reply;
    reply.arms["A"] = {row("op", std::move(a))};
    reply.arms["B"] = {row("op", std::move(b))};
    return op_times(reply).at(0);
}

TEST(OpTimes, AChangeIsSeenThroughTheMachinesOwn) {
    const std::vector<double> a = {100, 180, 90, 400, 110, 95, 250, 130};
    std::vector<double> b;
    for (const double value : a) b.push_back(value * (0.8 + 0.001 * std::fmod(value, 7)));
    const OpTime time = only(a, b);
    EXPECT_NEAR(*time.change, -0.197, 0.003);
    EXPECT_GT(*time.interval.low, -0.201);
    EXPECT_LT(*time.interval.high, -0.193);
}

TEST(OpTimes, NoChangeIsShownByChanceInOneOfAHundred) {
    std::mt19937_64 random(7);
    std::lognormal_distribution<double> noise(0, 0.2);
    const int n = 4000;
    int shown = 0;
    for (int i = 0; i < n; ++i) {
        std::vector<double> a, b;
        for (int process = 0; process < 8; ++process) {
            const double machine = noise(random);
            a.push_back(machine * noise(random));
            b.push_back(machine * noise(random));
        }
        const OpTime time = only(a, b);
        shown += *time.interval.low > 0 || *time.interval.high < 0 ? 1 : 0;
    }
    EXPECT_GT(shown, 0);
    EXPECT_LT(shown, n * 0.0125);  // 2/256 = 0.8 % by the exact distribution
}

TEST(OpTimes, WithoutEnoughProcessesThereIsNoInterval) {
    const std::pair<std::vector<double>, std::vector<double>> kTimes[] = {
        {{}, {}},
        {{100, 100, 100}, {50, 50, 50}},                          // too few
        {{100, 100}, {50}},                                       // of different number
        {{100, 0, 1, 1, 1, 1, 1, 1}, {50, 1, 1, 1, 1, 1, 1, 1}},  // a clock that stood still
    };
    for (const auto& [a, b] : kTimes) {
        const OpTime time = only(a, b);
        EXPECT_TRUE(time.change.has_value());
        EXPECT_FALSE(time.interval.low || time.interval.high) << a.size();
    }
    EXPECT_DOUBLE_EQ(*only({}, {}).change, 0);
}

TEST(OpTimes, AnOpOfOneArmHasNoChange) {
    protocol::ProfileReply reply;
    reply.arms["A"] = {row("small", std::vector<double>(8, 10)),
                       row("both", std::vector<double>(8, 50))};
    reply.arms["B"] = {row("both", std::vector<double>(8, 60)),
                       row("large", std::vector<double>(8, 70))};
    const std::vector<OpTime> times = op_times(reply);
    ASSERT_EQ(times.size(), 3u);
    EXPECT_EQ(times[0].op, "large");
    EXPECT_TRUE(times[0].a.variant.empty());
    EXPECT_FALSE(times[0].change);
    EXPECT_NEAR(*times[1].change, 0.2, 1e-9);
    EXPECT_FALSE(times[2].change);
    EXPECT_EQ(profile_processes(reply), 8u);
    EXPECT_EQ(profile_processes({}), 0u);
}

TEST(OpTimes, ProcessesAreJoinedByTheirMedians) {
    std::vector<protocol::ProfileReply> processes;
    for (const double ns : {30.0, 10.0, 20.0}) {
        protocol::ProfileReply one;
        one.arms["A"] = {row("op", {})};
        one.arms["A"][0].ns_per_token = ns;
        one.arms["B"] = {{"op", "other", 2, 2 * ns, 7}};
        one.launches_per_token = {{"A", 3}, {"B", 3}};
        one.barrier_ns_per_token = {{"A", ns + 1}, {"B", ns + 2}};
        one.read_gb_per_s = ns / 10;
        processes.push_back(one);
    }
    const protocol::ProfileReply joined = joined_profiles(processes);
    EXPECT_EQ(joined.arms.at("A")[0].process_ns, (std::vector<double>{30, 10, 20}));
    EXPECT_EQ(joined.arms.at("A")[0].ns_per_token, 20);
    EXPECT_EQ(joined.arms.at("B")[0].ns_per_token, 40);
    EXPECT_EQ(joined.arms.at("B")[0].variant, "other");
    EXPECT_EQ(joined.arms.at("B")[0].bytes_per_token, 7);
    EXPECT_EQ(joined.launches_per_token.at("B"), 3);
    EXPECT_EQ(joined.barrier_ns_per_token.at("B"), 22);
    EXPECT_EQ(joined.read_gb_per_s, 2);
    EXPECT_EQ(profile_processes(joined), 3u);
    // Where a process did not measure what memory gives, the others tell.
    processes[2].read_gb_per_s = 0;
    processes[1].read_where = "gpu";
    EXPECT_EQ(joined_profiles(processes).read_gb_per_s, 2);
    EXPECT_EQ(joined_profiles(processes).read_where, "gpu");
    processes[0].read_gb_per_s = 0;
    EXPECT_EQ(joined_profiles(processes).read_gb_per_s, 1);
    // An op that A lacks in one process and B in another keeps its places, and has no interval.
    for (int i = 0; i < 7; ++i) processes.push_back(processes[0]);
    processes[1].arms.erase("A");
    processes[2].arms.erase("B");
    const OpTime time = op_times(joined_profiles(processes)).at(0);
    EXPECT_EQ(time.a.process_ns[1], 0);
    EXPECT_EQ(time.b.process_ns[2], 0);
    EXPECT_DOUBLE_EQ(*time.change, 1);
    EXPECT_FALSE(time.interval.low);
}

}  // namespace
}  // namespace steady
