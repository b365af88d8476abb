// Exact tests by enumeration: sign flips, signed ranks, rank sums, relabellings, and the
// Hodges–Lehmann estimate with its fixed-n interval. No normal approximation hides in here unless
// the name says so: at three to fifty pairs the exact distribution is cheap.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "runner/statistics/statistics.h"

namespace steady {

// One-sided p values include the observed arrangement; "greater" means a better candidate.
struct ExactP {
    double p_greater = 1, p_less = 1, p_two = 1;
};

// Statistic: the sum of z under all 2ⁿ sign patterns. Zeros stay (flipping them changes nothing).
// Throws Error above 44 values, where the enumeration no longer fits.
ExactP sign_flip_exact(Values z);

struct SignedRank {
    double w_plus = 0;
    std::size_t n_nonzero = 0;
    ExactP p;
};

// Zeros dropped, midranks for ties, exact conditional distribution; p = 1 without non-zero values.
SignedRank wilcoxon_exact(Values z);

struct SignedRankNormal {
    double z_score = kUndefined, p_greater = kUndefined, p_less = kUndefined, p_two = kUndefined;
};
// Large-sample form: no continuity correction, variance of untied ranks; zeros dropped.
SignedRankNormal wilcoxon_normal(Values z);

struct CriticalValue {
    double w, attained;
};
// Smallest w with P(W+ ≥ w) ≤ alpha for n untied pairs; absent when even the largest W+ is too
// likely.
std::optional<CriticalValue> wilcoxon_critical(std::size_t n, double alpha);

struct RankSum {
    double u_x = kUndefined, p_two = kUndefined, p_x_greater = kUndefined, p_x_less = kUndefined;
    std::string method;  // exact or asymptotic
};
// Mann–Whitney. method "auto": exact when there are no ties and at most 2500 cross pairs;
// asymptotic otherwise, with tie-corrected variance and an optional continuity term of 0.5.
RankSum mann_whitney(Values x, Values y, bool continuity = true,
                     const std::string& method = "auto");

struct HodgesLehmann {
    double estimate = kUndefined;
    double lower = kUndefined, upper = kUndefined;  // undefined when n is too small for conf
    std::size_t n_walsh = 0;
    std::optional<std::size_t> k;  // the interval is [W(k), W(M + 1 − k)]
};
HodgesLehmann hodges_lehmann(Values z, double conf = 0.95);
// The estimate alone: median of all (z_i + z_j)/2 with i ≤ j.
double hodges_lehmann_estimate(Values z);

struct MedianRandomisation {
    double obs = kUndefined, p = kUndefined, q95 = kUndefined;
    std::size_t n_relabelings = 0;
};
// |median(x) − median(y)| under every relabelling of the pooled values. Throws Error above five
// million relabellings.
MedianRandomisation median_randomisation(Values x, Values y);

}  // namespace steady
