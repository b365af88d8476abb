// Summaries, distributions and classical tests, as pure functions. A result that is not defined
// (the sd of one value, the median of none) is NaN; callers show it as a dash and JSON as null.
// Definitions: runner/statistics/README.md.
#pragma once

#include <cstddef>
#include <limits>
#include <span>
#include <utility>
#include <vector>

namespace steady {

constexpr double kMadToSigma = 1.482602218505602;  // 1 / Φ⁻¹(3/4)
constexpr double kUndefined = std::numeric_limits<double>::quiet_NaN();

using Values = std::span<const double>;

inline double real(std::size_t n) { return static_cast<double>(n); }

struct Summary {
    std::size_t n = 0;
    double mean = kUndefined, median = kUndefined;
    double p10 = kUndefined, p25 = kUndefined, p75 = kUndefined, p90 = kUndefined;
    double iqr = kUndefined, mad_raw = kUndefined, mad_sigma = kUndefined;
    double sd = kUndefined;  // ddof 1; undefined for fewer than two values
    double min = kUndefined, max = kUndefined;
};

Summary summarise(Values x);

double mean(Values x);
// The mean of the two middle values when the count is even.
double median(Values x);
double median_in_place(std::vector<double>& x);
// Variance with n − ddof in the denominator; undefined when that is not positive.
double variance(Values x, int ddof);
double sd(Values x, int ddof);
// p in [0, 1], linear interpolation between order statistics (Hyndman–Fan type 7).
double quantile(Values x, double p);
double quantile_sorted(Values sorted, double p);
// Median absolute deviation from the median, not scaled.
double mad(Values x);

// d_i = ln(baseline_i / candidate_i) for times; for rates the other way round, so that a positive
// value always means a better candidate. Sizes must agree; non-positive values give NaN.
std::vector<double> pair_log_ratio(Values baseline, Values candidate, bool lower_is_better = true);

// Ranks from 1, equal values sharing the mean of their ranks.
std::vector<double> midranks(Values x);
// Sizes of the groups of equal values (groups of one included).
std::vector<std::size_t> tie_groups(Values x);

// Median of all pairwise slopes of x over its index; 0 for fewer than two values.
double theil_sen(Values x);
// Two-sided p of Kendall's tau of x against its index: exact when there are no ties and n ≤ 33,
// otherwise normal with tie-corrected variance and no continuity term. 1 when nothing can be said.
double kendall_p(Values x);

// Distributions. Out-of-range probabilities give NaN, 0 and 1 the infinities.
double normal_cdf(double z);
double normal_sf(double z);
double normal_quantile(double p);
double t_cdf(double t, double df);
double t_quantile(double p, double df);

struct TTest {
    double t = kUndefined, df = kUndefined, p_two = kUndefined, p_greater = kUndefined,
           p_less = kUndefined;
};
TTest one_sample_t(Values z, double mu = 0);
TTest welch_t(Values x, Values y);  // x − y, unequal variances

// Two one-sided t tests of "the mean lies outside (lower, upper)".
struct Tost {
    double p_lower = kUndefined, p_upper = kUndefined, p_tost = kUndefined;
};
Tost tost_t(Values z, double lower, double upper);

// k successes in n trials: exact bounds of the success probability.
struct ClopperPearson {
    double lower_one_sided = 0, upper_one_sided = 1, lower_two = 0, upper_two = 1;
};
ClopperPearson clopper_pearson(double k, double n, double conf);

}  // namespace steady
