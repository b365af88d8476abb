// Properties that must hold for any data: the evidence is fair, the partition optimal, and the
// check of vectors survives every file.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "kernels/base/error.h"
#include "runner/statistics/change_points.h"
#include "runner/statistics/check/stats_check.h"
#include "runner/statistics/evidence.h"
#include "runner/statistics/statistics_ranks.h"
#include "runner/statistics/steady_state.h"
#include "runner/statistics/stopping_rule.h"

namespace steady {
namespace {

using nlohmann::json;

TEST(Evidence, AveragesToOneOverAllSignPatternsOfAnyMagnitudes) {
    std::mt19937_64 random(11);
    std::uniform_real_distribution<double> uniform;
    for (int round = 0; round < 200; ++round) {
        std::vector<double> magnitudes(1 + random() % 9);
        for (double& m : magnitudes) m = 0.01 * std::pow(10, 6 * uniform(random) - 3);
        const double theta = 0.02 * (uniform(random) - 0.5),
                     sigma0 = 0.001 + 0.05 * uniform(random);
        for (Side side : {Side::at_most, Side::at_least})
            EXPECT_NEAR(mean_e_over_sign_flips(magnitudes, theta, sigma0, side), 1, 1e-12);
    }
}

TEST(Evidence, IsSmallerForEffectsBelowTheBound) {
    // Under "effect ≤ theta" every sign pattern shifted downwards has a mean of at most 1.
    const std::vector<double> magnitudes{0.01, 0.02, 0.005, 0.013, 0.008, 0.011};
    for (double shift : {0.001, 0.01, 0.1}) {
        double total = 0;
        for (unsigned pattern = 0; pattern < 64; ++pattern) {
            std::vector<double> d;
            for (std::size_t i = 0; i < magnitudes.size(); ++i)
                d.push_back((pattern >> i & 1 ? magnitudes[i] : -magnitudes[i]) - shift);
            total += std::exp(log_e(d, bet_scales(d, 0.01), 0, Side::at_most));
        }
        EXPECT_LE(total / 64, 1 + 1e-12);
    }
}

TEST(Evidence, ThePicturesNarrowingEndsAtTheReportedBounds) {
    std::mt19937_64 random(5);
    std::normal_distribution<double> normal(0.01, 0.01);
    std::vector<double> d(40);
    for (double& value : d) value = normal(random);
    const std::vector<double> scales = bet_scales(d, 0.01);
    const Bounds reported = confidence_bounds(d, scales);
    const Bounds drawn = confidence_sequence(d, scales).back();
    EXPECT_NEAR(*reported.low, *drawn.low, 1e-8);
    EXPECT_NEAR(*reported.high, *drawn.high, 1e-8);
}

TEST(Verdict, DoesNotDependOnPairsAfterTheStop) {
    std::vector<double> d(9, 0.02);
    const RuleOutcome stopped = decide_gain(d, {});
    for (int i = 0; i < 5; ++i) d.push_back(-5);
    const RuleOutcome later = decide_gain(d, {});
    EXPECT_EQ(stopped.decision, Decision::accept);
    EXPECT_EQ(later.decision, Decision::accept);
    EXPECT_EQ(later.n_pairs, stopped.n_pairs);
    EXPECT_EQ(later.log_e_accept, stopped.log_e_accept);
}

TEST(Verdict, GuardsLatchWhicheverComesFirst) {
    std::vector<double> d(10, 0.0);
    for (int i = 0; i < 40; ++i) d.push_back(-0.2);
    const GuardOutcome passed = decide_guard(d, 0.01, 0.02, 0.05, 0.05);
    EXPECT_EQ(passed.state, GuardState::pass);
    EXPECT_EQ(decide_guard(std::vector<double>(30, -0.2), 0.01, 0.02, 0.05, 0.05).state,
              GuardState::fail);
    EXPECT_EQ(decide_guard(Values{}, 0.01, 0.02, 0.05, 0.05).state, GuardState::open);
}

TEST(Verdict, EqualityIsRefutedOnBothSides) {
    for (const double far : {0.05, -0.05}) {
        const EquivalenceOutcome one =
            decide_equivalent(std::vector<double>(30, far), 0.01, 0.01, 0.05);
        EXPECT_FALSE(one.shown) << far;
        EXPECT_GT(far > 0 ? one.log_e_above : one.log_e_below, std::log(20)) << far;
    }
    EXPECT_TRUE(decide_equivalent(std::vector<double>(30, 0.0), 0.01, 0.01, 0.05).shown);
}

// The cap's exact look has an error budget that one attempt at a question may spend.
TEST(Verdict, ALaterAttemptHasNoLastLook) {
    RuleParams first;
    first.n_max = 12;
    RuleParams later = first;
    later.final_look = false;
    std::mt19937_64 random(4);
    std::normal_distribution<double> noise(0.01, 0.012);
    int n_last = 0;
    for (int i = 0; i < 300; ++i) {
        std::vector<double> d(first.n_max);
        for (double& one : d) one = noise(random);
        const RuleOutcome outcome = decide_gain(d, first);
        if (outcome.why != "final") continue;
        ++n_last;
        EXPECT_NE(outcome.decision, Decision::inconclusive);
        EXPECT_EQ(decide_gain(d, later).decision, Decision::inconclusive) << i;
    }
    EXPECT_GT(n_last, 10) << "no last look decided";
}

// The other half of alpha was for the looks before.
TEST(Verdict, TheLastLookSpendsHalfOfTheLevel) {
    RuleParams params;
    params.n_max = 12;
    std::mt19937_64 random(5);
    std::normal_distribution<double> noise(0.008, 0.012);
    int n_between = 0;
    for (int i = 0; i < 1000; ++i) {
        std::vector<double> d(params.n_max);
        for (double& one : d) one = noise(random);
        const RuleOutcome outcome = decide_gain(d, params);
        if (outcome.why == "early_e" || !outcome.final_p_accept) continue;
        const double p = *outcome.final_p_accept;
        EXPECT_EQ(outcome.decision == Decision::accept, p <= params.alpha / 2) << p;
        n_between += p > params.alpha / 2 && p <= params.alpha ? 1 : 0;
    }
    EXPECT_GT(n_between, 3) << "nothing lay between half of the level and the level";
}

// Minimum of the objective over all partitions, by dynamic programming without pruning.
Partition exhaustive(Values y, double beta, std::size_t minseg) {
    const std::size_t n = y.size();
    std::vector<double> best(n + 1, std::numeric_limits<double>::infinity());
    std::vector<std::size_t> previous(n + 1, 0);
    best[0] = -beta;
    for (std::size_t t = minseg; t <= n; ++t)
        for (std::size_t s = 0; s + minseg <= t; ++s) {
            const Values segment = y.subspan(s, t - s);
            const double total = best[s] + variance(segment, 0) * real(segment.size()) + beta;
            if (total < best[t] - 1e-12) {
                best[t] = total;
                previous[t] = s;
            }
        }
    Partition result;
    result.objective = best[n];
    for (std::size_t t = previous[n]; t > 0; t = previous[t])
        result.change_points.insert(result.change_points.begin(), t);
    return result;
}

TEST(ChangePoints, PeltEqualsExhaustiveOptimalPartitioning) {
    std::mt19937_64 random(2);
    std::normal_distribution<double> normal;
    for (int round = 0; round < 40; ++round) {
        std::vector<double> y(20 + random() % 60);
        double level = 0;
        for (double& value : y) {
            if (random() % 12 == 0) level = 3 * normal(random);
            value = level + normal(random);
        }
        const std::size_t minseg = 1 + random() % 5;
        const double beta = 0.5 + static_cast<double>(random() % 20);
        const Partition fast = pelt_l2(y, beta, minseg), slow = exhaustive(y, beta, minseg);
        EXPECT_NEAR(fast.objective, slow.objective, 1e-9) << round;
        EXPECT_EQ(fast.change_points, slow.change_points) << round;
    }
}

TEST(ExactTests, AgreeWithEachOtherOnUntiedSigns) {
    // With |z| = 1, 2, 4, … the sign-flip sum orders the patterns by magnitude.
    const std::vector<double> z{1, 2, 4, 8, -16};
    EXPECT_DOUBLE_EQ(sign_flip_exact(z).p_greater, 17.0 / 32);
    EXPECT_THROW(sign_flip_exact(std::vector<double>(50, 1.0)), Error);
    EXPECT_DOUBLE_EQ(sign_flip_exact(std::vector<double>(40, 1.0)).p_greater, std::pow(0.5, 40));
    EXPECT_DOUBLE_EQ(wilcoxon_exact(std::vector<double>(40, 1.0)).p.p_greater, std::pow(0.5, 40));
}

TEST(StatsCheck, NamesEveryFailureAndNeverCrashes) {
    const json file = json::parse(R"({"format": "stat-vectors v1", "vectors": [
        {"id": "good", "method": "normal_cdf", "input": {"z": [0]}, "expect": {"cdf": [0.5]},
         "abs_tol": 0},
        {"id": "wrong", "method": "normal_cdf", "input": {"z": [0]}, "expect": {"cdf": [0.4]},
         "abs_tol": 0.01},
        {"id": "unknown", "method": "astrology", "input": {}, "expect": {}},
        {"id": "no_input", "method": "summary", "expect": {}},
        {"id": "wrong_type", "method": "summary", "input": {"x": "seven"}, "expect": {"n": 1}},
        {"id": "not_computed", "method": "summary", "input": {"x": [1]}, "expect": {"mode": 1}},
        {"id": "comment", "method": "pelt_l2", "input": {"y": [], "beta": 1},
         "expect": {"change_points": [], "truth": [3]}},
        7]})");
    const std::vector<CheckResult> results = stats_check(file);
    ASSERT_EQ(results.size(), 8u);
    EXPECT_TRUE(results[0].pass);
    EXPECT_FALSE(results[1].pass);
    EXPECT_NE(results[2].message.find("unknown method \"astrology\""), std::string::npos);
    EXPECT_FALSE(results[3].pass);
    EXPECT_FALSE(results[4].pass);
    EXPECT_NE(results[5].message.find("mode"), std::string::npos);
    EXPECT_TRUE(results[6].pass) << results[6].message;
    EXPECT_EQ(results[7].id, "vectors/7");
    const std::string text = stats_check_text(results);
    EXPECT_NE(text.find("2 passed, 6 failed"), std::string::npos) << text;
    EXPECT_NE(text.find("astrology"), std::string::npos);
    EXPECT_THROW(stats_check(json::array()), Error);
}

TEST(StatsCheck, EveryMethodSurvivesEmptyAndDegenerateInput) {
    const std::vector<json> lists{json::array(), {0},     {1},      {2, 2, 2, 2, 2, 2, 2, 2, 2, 2},
                                  {0, 0, 0},     {-1, 1}, {nullptr}};
    for (const auto& [name, method] : stats_methods()) {
        for (const json& list : lists) {
            const json input = {{"x", list},
                                {"y", list},
                                {"z", list},
                                {"d", list},
                                {"e", list},
                                {"p", list},
                                {"abs_d", list},
                                {"baseline", list},
                                {"candidate", list},
                                {"df", list},
                                {"alphas", list},
                                {"data", json::array({list, list})},
                                {"sigma0", 0.01},
                                {"sigma_d", 0.01},
                                {"n_max", 10},
                                {"beta", 1},
                                {"alpha", 0.05},
                                {"k", 0},
                                {"n", 0},
                                {"t", 0},
                                {"lower", -1},
                                {"upper", 1},
                                {"cost_iteration", 1},
                                {"cost_process", 1}};
            const CheckResult result = check_vector({{"id", name},
                                                     {"method", name},
                                                     {"input", input},
                                                     {"expect", {{"table", json::object()}}}});
            EXPECT_FALSE(result.id.empty());
        }
    }
}

TEST(SteadyState, AShortRunThatRisesIsDrifting) {
    const std::vector<double> rising{37.27, 36.95, 38.09, 41.26, 42.72};
    EXPECT_TRUE(detect_steady_state(rising).drifting);
    const std::vector<double> level{37.0, 36.9, 37.1, 37.0, 37.2};
    EXPECT_FALSE(detect_steady_state(level).drifting);
    EXPECT_EQ(detect_steady_state(Values{}).cls, SteadyClass::no_steady_state);
}

}  // namespace
}  // namespace steady
