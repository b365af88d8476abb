// PELT, the verification of its points, and two simpler detectors used for display. The pruning
// step needs care with a minimum segment length: a start may be dropped only as an end of segments
// that it could already have formed.
#include "runner/statistics/change_points.h"

#include <algorithm>
#include <cmath>

#include "runner/statistics/statistics_ranks.h"

namespace steady {

namespace {

constexpr double kTieSlack = 1e-12;

// Squared error of any segment in constant time.
class SegmentCost {
public:
    explicit SegmentCost(Values y) : sum_(y.size() + 1, 0.0), squares_(y.size() + 1, 0.0) {
        const double centre = y.empty() ? 0 : mean(y);  // keeps the sums of squares small
        for (std::size_t i = 0; i < y.size(); ++i) {
            const double value = y[i] - centre;
            sum_[i + 1] = sum_[i] + value;
            squares_[i + 1] = squares_[i] + value * value;
        }
    }
    double operator()(std::size_t begin, std::size_t end) const {
        const double s = sum_[end] - sum_[begin];
        return std::max(0.0, squares_[end] - squares_[begin] - s * s / real(end - begin));
    }

private:
    std::vector<double> sum_, squares_;
};

std::vector<std::size_t> trace_back(const std::vector<std::size_t>& previous, std::size_t n) {
    std::vector<std::size_t> points;
    for (std::size_t t = previous[n]; t > 0; t = previous[t]) points.push_back(t);
    std::reverse(points.begin(), points.end());
    return points;
}

}  // namespace

Partition pelt_l2(Values y, double beta, std::size_t minseg) {
    const std::size_t n = y.size();
    minseg = std::max<std::size_t>(minseg, 1);
    Partition result;
    if (n == 0) return result;
    const SegmentCost cost(y);
    if (n < 2 * minseg) {
        result.objective = cost(0, n);
        return result;
    }
    std::vector<double> best(n + 1, std::numeric_limits<double>::infinity());
    std::vector<std::size_t> previous(n + 1, 0), starts;
    best[0] = -beta;
    for (std::size_t t = minseg; t <= n; ++t) {
        starts.push_back(t - minseg);  // from here on it can begin a segment that ends at t
        for (std::size_t s : starts) {
            const double total = best[s] + cost(s, t) + beta;
            if (total < best[t] - kTieSlack) {
                best[t] = total;
                previous[t] = s;
            }
        }
        std::size_t kept = 0;
        for (std::size_t s : starts)
            if (best[s] + cost(s, t) <= best[t] + kTieSlack) starts[kept++] = s;
        starts.resize(kept);
    }
    result.change_points = trace_back(previous, n);
    result.objective = best[n];
    return result;
}

double difference_scale(Values x) {
    std::vector<double> difference;
    for (std::size_t i = 1; i < x.size(); ++i) difference.push_back(std::abs(x[i] - x[i - 1]));
    double scale =
        difference.empty() ? 0 : kMadToSigma * median_in_place(difference) / std::sqrt(2.0);
    if (!(scale > 0)) scale = x.empty() ? 0 : sd(x, 0);
    return scale > 0 ? scale : 1;
}

std::vector<double> robust_z(Values x, double scale) {
    std::vector<double> z(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
        const std::size_t begin = i < 3 ? 0 : i - 3;
        const std::size_t end = std::min(x.size(), i + 4);
        const double centre = median(x.subspan(begin, end - begin));
        z[i] = (centre + std::clamp(x[i] - centre, -2 * scale, 2 * scale)) / scale;
    }
    return z;
}

namespace {

struct Segments {
    std::vector<std::size_t> edges;  // 0, change points, n
    Values x;

    Segments(const std::vector<std::size_t>& points, Values values) : x(values) {
        edges.push_back(0);
        edges.insert(edges.end(), points.begin(), points.end());
        edges.push_back(values.size());
    }
    Values segment(std::size_t j) const { return x.subspan(edges[j], edges[j + 1] - edges[j]); }
};

std::vector<double> point_p_values(const std::vector<std::size_t>& points, Values x) {
    const Segments parts(points, x);
    std::vector<double> p;
    for (std::size_t j = 0; j < points.size(); ++j)
        p.push_back(mann_whitney(parts.segment(j), parts.segment(j + 1), true, "asymptotic").p_two);
    return p;
}

std::vector<double> segment_medians(const std::vector<std::size_t>& points, Values x) {
    const Segments parts(points, x);
    std::vector<double> medians;
    for (std::size_t j = 0; j <= points.size(); ++j) medians.push_back(median(parts.segment(j)));
    return medians;
}

void remove_insignificant(std::vector<std::size_t>& points, Values x, double alpha) {
    while (!points.empty()) {
        const std::vector<double> p = point_p_values(points, x);
        const auto weakest = std::max_element(p.begin(), p.end());
        if (*weakest < alpha) return;
        points.erase(points.begin() + (weakest - p.begin()));
    }
}

void remove_small(std::vector<std::size_t>& points, Values x, double min_magnitude) {
    while (!points.empty()) {
        const std::vector<double> medians = segment_medians(points, x);
        std::size_t smallest = 0;
        double shift = std::numeric_limits<double>::infinity();
        for (std::size_t j = 0; j < points.size(); ++j) {
            const double size = std::abs(medians[j + 1] - medians[j]);
            if (size < shift) {
                shift = size;
                smallest = j;
            }
        }
        if (shift >= min_magnitude) return;
        points.erase(points.begin() + static_cast<std::ptrdiff_t>(smallest));
    }
}

}  // namespace

namespace {

bool mostly_repeats(Values x) {
    std::size_t equal = 0;
    for (std::size_t i = 1; i < x.size(); ++i) equal += x[i] == x[i - 1] ? 1 : 0;
    return x.size() > 1 && 2 * equal >= x.size() - 1;
}

}  // namespace

ChangePoints robust_change_points(Values y, const ChangePointOptions& options) {
    ChangePoints result;
    std::vector<double> x(y.begin(), y.end());
    if (options.log_transform)
        for (double& value : x) value = std::log(value);
    if (!x.empty()) result.scale = difference_scale(x);
    if (options.exact_scale > 0 && mostly_repeats(x)) result.scale = options.exact_scale;
    if (!x.empty()) result.beta = options.k * std::log(real(x.size()));
    if (x.size() >= 2 * options.minseg) {
        result.pelt = pelt_l2(robust_z(x, result.scale), result.beta, options.minseg).change_points;
        result.change_points = result.pelt;
        remove_insignificant(result.change_points, x, options.alpha);
        remove_small(result.change_points, x, options.min_magnitude);
    }
    if (!x.empty()) result.segment_medians = segment_medians(result.change_points, x);
    result.pvalues = point_p_values(result.change_points, x);
    return result;
}

EnergySplit edivisive_q_argmax(Values y, double alpha) {
    EnergySplit best;
    const std::size_t n = y.size();
    const auto distance = [&](std::size_t i, std::size_t j) {
        return std::pow(std::abs(y[i] - y[j]), alpha);
    };
    for (std::size_t tau = 2; tau + 2 <= n; ++tau) {
        double within_left = 0, within_right = 0, between = 0;
        for (std::size_t i = 0; i < tau; ++i)
            for (std::size_t j = i + 1; j < tau; ++j) within_left += distance(i, j);
        for (std::size_t kappa = tau + 1; kappa <= n; ++kappa) {
            const std::size_t added = kappa - 1;
            for (std::size_t i = 0; i < tau; ++i) between += distance(i, added);
            for (std::size_t i = tau; i < added; ++i) within_right += distance(i, added);
            if (kappa < tau + 2) continue;
            const double a = real(tau), b = real(kappa - tau);
            const double energy = 2 * between / (a * b) - 2 * within_left / (a * (a - 1)) -
                                  2 * within_right / (b * (b - 1));
            const double q = a * b / (a + b) * energy;
            if (!best.tau || q > best.q + kTieSlack) best = {q, tau, kappa};
        }
    }
    return best;
}

Cusum tabular_cusum(Values z, double k, double h) {
    Cusum result;
    double upper = 0, lower = 0;
    for (std::size_t i = 0; i < z.size(); ++i) {
        upper = std::max(0.0, upper + z[i] - k);
        lower = std::max(0.0, lower - z[i] - k);
        result.path.emplace_back(upper, lower);
        if (!result.first_alarm && (upper > h || lower > h)) result.first_alarm = i;
    }
    return result;
}

}  // namespace steady
