// The order is reproducible byte for byte: expected values here were computed with another
// program's SHA-256.
#include <gtest/gtest.h>

#include <set>

#include "tests/runner/analysis_world.h"

namespace steady {
namespace {

TEST(Coins, FollowFromTheSeedByteForByte) {
    EXPECT_EQ(draw_coins(7, 3, 0, 0, 20), "01010110001100000111");
    EXPECT_EQ(draw_coins(~std::uint64_t{0}, 1, 6, 2, 20), "01001110101101010011");
    EXPECT_EQ(draw_layout_seed(7, 3, 5, 1), 13225937548346669581u);
}

TEST(Coins, EveryFieldMatters) {
    const std::string base = draw_coins(1, 2, 3, 4, 64);
    EXPECT_NE(draw_coins(9, 2, 3, 4, 64), base);
    EXPECT_NE(draw_coins(1, 9, 3, 4, 64), base);
    EXPECT_NE(draw_coins(1, 2, 9, 4, 64), base);
    EXPECT_NE(draw_coins(1, 2, 3, 9, 64), base);
}

TEST(Coins, AreFair) {
    const std::string coins = draw_coins(42, 0, 0, 0, 40000);
    const auto ones = std::count(coins.begin(), coins.end(), '1');
    EXPECT_NEAR(static_cast<double>(ones), 20000, 400);  // four standard deviations
}

TEST(Schedule, HoldsAAPairsFirstThenPairsUpToTheCap) {
    Spec spec = plain_spec();
    const Plan plan = make_plan(spec, {});
    EXPECT_EQ(plan.coins_per_pair, 20);
    const std::vector<Pair> schedule = make_schedule(spec, plan, 5);
    ASSERT_EQ(schedule.size(), 34u);
    std::set<std::string> distinct;
    for (std::size_t i = 0; i < schedule.size(); ++i) {
        EXPECT_EQ(schedule[i].kind, i < 4 ? PairKind::aa : PairKind::measure);
        EXPECT_EQ(schedule[i].coins.size(), 20u);
        distinct.insert(schedule[i].coins);
    }
    EXPECT_EQ(distinct.size(), schedule.size());
    EXPECT_EQ(schedule[4].number, 0);
    spec.schedule.mode = Mode::process_pairs;
    EXPECT_EQ(make_plan(spec, {}).coins_per_pair, 1);
}

TEST(Plan, GatesThatNeedTheSameNumbersShareOneMeasurement) {
    Spec spec = plain_spec();
    Gate alone = make_gate("alone", Level::micro, Role::advice, "op_ns");
    alone.op = "q4_0_experts";
    spec.gates.insert(spec.gates.begin() + 1,
                      {alone, make_gate("block", Level::block, Role::guard, "block_ns"),
                       make_gate("ffn", Level::block, Role::guard, "ffn_ns"),
                       make_gate("tail", Level::model, Role::guard, "token_ns_p90")});
    const std::vector<Measurement> all = plan_measurements(spec);
    ASSERT_EQ(all.size(), 4u);
    EXPECT_EQ(all[0].scope, "micro");
    EXPECT_EQ(all[0].op, "q4_0_experts");
    EXPECT_TRUE(all[0].advice_only);
    EXPECT_EQ(all[1].scope, "block");
    EXPECT_EQ(all[2].scope, "ffn");
    EXPECT_EQ(all[3].scope, "model");
    EXPECT_EQ(all[3].owner, 5);  // the deciding gate, though tail stands before it
    EXPECT_EQ(all[3].gates, (std::vector<int>{4, 5}));
    EXPECT_NEAR(make_plan(spec, {}).guard_beta_sum, 0.10, 1e-12);
}

TEST(Plan, SaysWhatTheHostCanDetect) {
    const Spec spec = plain_spec();
    EXPECT_FALSE(make_plan(spec, {}).mde95);
    HostHistory history;
    for (int i = 0; i < 40; ++i) history.aa_pairs.push_back((i % 2 ? 1 : -1) * 0.002);
    const Plan quiet = make_plan(spec, history);
    EXPECT_NEAR(*quiet.sigma_d, 1.4826 * 0.002, 1e-6);
    EXPECT_NEAR(*quiet.mde95, 5 * 1.4826 * 0.002 / std::sqrt(30.0), 1e-6);
    EXPECT_FALSE(quiet.refuse);
    for (double& d : history.aa_pairs) d *= 10;
    const Plan noisy = make_plan(spec, history);
    EXPECT_TRUE(noisy.refuse);
    EXPECT_EQ(noisy.pairs_needed, 220);
    EXPECT_NE(noisy.detectable.find("refused"), std::string::npos);
}

TEST(Plan, NamesWhatDiffersWithoutBeingDeclared) {
    Spec spec = plain_spec();
    spec.arms["B"].threads = 4;
    const Plan plan = make_plan(spec, {});
    EXPECT_EQ(plan.undeclared, std::vector<std::string>{"threads"});
    EXPECT_TRUE(plan.missing.empty());
    EXPECT_NE(make_plan(spec, {}, 2).attempts.find("attempt 3"), std::string::npos);
}

}  // namespace
}  // namespace steady
