// An A/A experiment whose worker is killed again and again: the pair under way is lost, the next
// worker goes on from the stored ones. The rate of false accepts must stay what the rule promises.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

#include "runner/statistics/stopping_rule.h"
#include "tests/runner/analysis_world.h"

namespace steady {
namespace {

// STEADY_RESUMED_EXPERIMENTS=2000 for the long version.
int from_environment() {
    const char* set = std::getenv("STEADY_RESUMED_EXPERIMENTS");
    return set != nullptr ? std::atoi(set) : 300;
}

// The runner's loop, where a pair in three is measured and never stored.
Analysis run_under_kills(Bench& bench, std::mt19937_64& random, int& n_kills) {
    Analysis analysis = bench.judged();
    while (!analysis.stop) {
        std::optional<Pair> pair = next_pair(bench.input, analysis);
        if (!pair) break;
        while (random() % 3 == 0) {
            Pair lost = *pair;
            bench.measure(lost);
            ++n_kills;
        }
        bench.measure(*pair);
        bench.pairs.push_back(*pair);
        analysis = bench.judged();
    }
    bench.input.finished = true;
    return bench.judged();
}

TEST(AnalysisResumed, FalseAcceptsStayRareUnderKills) {
    if (STEADY_SANITIZED)
        GTEST_SKIP() << "counts how often chance misleads: the same code many times";
    const int n_experiments = from_environment();
    Spec spec = plain_spec();
    spec.schedule.warmup_tokens = 2;
    spec.schedule.tokens = 16;
    int n_accept = 0, n_kills = 0, n_decided = 0;
    std::mt19937_64 random(16);
    for (int i = 0; i < n_experiments; ++i) {
        World world;
        world.noise_seed = 1000 + static_cast<std::uint64_t>(i);
        Bench bench(spec, world);
        const Analysis analysis = run_under_kills(bench, random, n_kills);
        n_accept += analysis.verdict == Verdict::accept ? 1 : 0;
        n_decided += analysis.verdict != Verdict::inconclusive ? 1 : 0;
    }
    const double alpha = RuleParams{}.alpha;
    const double most =
        n_experiments * alpha + 2.576 * std::sqrt(n_experiments * alpha * (1 - alpha));
    fmt::print("{} A/A experiments, {} kills: {} accepted (at most {:.0f}), {} decided\n",
               n_experiments, n_kills, n_accept, most, n_decided);
    EXPECT_LE(n_accept, most);
    EXPECT_GT(n_kills, n_experiments);
    EXPECT_GT(n_decided, n_experiments / 2) << "else nothing was tested";
}

}  // namespace
}  // namespace steady
