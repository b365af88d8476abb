// Normal, Student and binomial quantities, and the t tests that rest on them. Quantiles come from
// Boost.Math; the normal tail uses erfc, which keeps its relative precision far out.
#include <algorithm>
#include <boost/math/distributions/beta.hpp>
#include <boost/math/distributions/normal.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>

#include "runner/statistics/statistics.h"

namespace steady {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

TTest t_result(double t, double df) {
    TTest result;
    result.t = t;
    result.df = df;
    if (!std::isfinite(t) || !(df > 0)) return result;
    result.p_greater = t_cdf(-t, df);
    result.p_less = t_cdf(t, df);
    result.p_two = std::min(1.0, 2 * t_cdf(-std::abs(t), df));
    return result;
}

}  // namespace

double normal_cdf(double z) { return 0.5 * std::erfc(-z / std::sqrt(2.0)); }

double normal_sf(double z) { return normal_cdf(-z); }

double normal_quantile(double p) {
    if (!(p >= 0 && p <= 1)) return kUndefined;
    if (p == 0 || p == 1) return p == 0 ? -kInfinity : kInfinity;
    return boost::math::quantile(boost::math::normal(), p);
}

double t_cdf(double t, double df) {
    if (!(df > 0) || std::isnan(t)) return kUndefined;
    if (std::isinf(t)) return t > 0 ? 1 : 0;
    return boost::math::cdf(boost::math::students_t(df), t);
}

TTest one_sample_t(Values z, double mu) {
    const double n = real(z.size());
    return t_result((mean(z) - mu) / (sd(z, 1) / std::sqrt(n)), n - 1);
}

TTest welch_t(Values x, Values y) {
    const double vx = variance(x, 1) / real(x.size());
    const double vy = variance(y, 1) / real(y.size());
    const double df =
        (vx + vy) * (vx + vy) / (vx * vx / (real(x.size()) - 1) + vy * vy / (real(y.size()) - 1));
    return t_result((mean(x) - mean(y)) / std::sqrt(vx + vy), df);
}

Tost tost_t(Values z, double lower, double upper) {
    Tost result;
    result.p_lower = one_sample_t(z, lower).p_greater;
    result.p_upper = one_sample_t(z, upper).p_less;
    result.p_tost = std::isnan(result.p_lower) || std::isnan(result.p_upper)
                        ? kUndefined
                        : std::max(result.p_lower, result.p_upper);
    return result;
}

namespace {

double beta_quantile(double p, double a, double b) {
    return boost::math::quantile(boost::math::beta_distribution<>(a, b), p);
}

}  // namespace

ClopperPearson clopper_pearson(double k, double n, double conf) {
    ClopperPearson bounds;
    const double alpha = 1 - conf;
    if (!(k >= 0 && k <= n) || !(alpha > 0 && alpha < 1))
        return {kUndefined, kUndefined, kUndefined, kUndefined};
    if (k > 0) {
        bounds.lower_one_sided = beta_quantile(alpha, k, n - k + 1);
        bounds.lower_two = beta_quantile(alpha / 2, k, n - k + 1);
    }
    if (k < n) {
        bounds.upper_one_sided = beta_quantile(1 - alpha, k + 1, n - k);
        bounds.upper_two = beta_quantile(1 - alpha / 2, k + 1, n - k);
    }
    return bounds;
}

}  // namespace steady
