// Statistics around the verdict: error budgets over many candidates, spending functions, the
// two-level variance model for planning, and a bootstrap interval for display.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "runner/statistics/statistics.h"

namespace steady {

struct ELond {
    std::vector<double> level;  // of each test in order
    std::vector<bool> reject;
};
// Online testing: level_t = alpha · 6/(π²t²) · (discoveries so far + 1); discovery when
// e_t ≥ 1/level_t.
ELond e_lond(Values e, double alpha);

// Batch of e values: indices (ascending) of the discoveries at false discovery rate alpha.
std::vector<std::size_t> e_bh(Values e, double alpha);

// Holm's adjusted p values, in the order given.
std::vector<double> holm(Values p);

// Share of alpha spent at information time t in [0, 1].
struct Spending {
    double obrien_fleming = 0, pocock = 0;
};
Spending lan_demets(double t, double alpha);

struct Sprt {
    double log_upper, log_lower;
};
Sprt wald_sprt(double alpha, double beta);

// Fewest pairs with which any exact one-sided test can reach alpha: smallest n with 2⁻ⁿ ≤ alpha.
int min_pairs_sign_flip(double alpha);

struct Bca {
    double theta = kUndefined, z0 = kUndefined, a = kUndefined;
    double level_low = kUndefined, level_high = kUndefined;
    double low = kUndefined, high = kUndefined;
};
// Bias-corrected accelerated bootstrap interval of the mean. The bootstrap distribution is exact
// (all nⁿ resamples, grouped by how often each value is drawn) up to 12 values; above that
// `resamples` are drawn from a fixed seed.
Bca bca_bootstrap_mean(Values z, double conf, std::size_t resamples = 200000,
                       std::uint64_t seed = 1);

// Processes × iterations: S² are observed variances of each level, T² the unbiased components.
struct TwoLevel {
    double s1_sq = kUndefined, s2_sq = kUndefined, t1_sq = kUndefined, t2_sq = kUndefined;
    std::optional<double> r1_opt;  // iterations per process; undefined when T2² is not positive
    double mean = kUndefined, ci_half_width = kUndefined;  // from process means only
};
// data: one row per process. Costs in any common unit.
TwoLevel kalibera_jones(const std::vector<std::vector<double>>& data, double cost_iteration,
                        double cost_process, double conf);

}  // namespace steady
