// Summaries, ranks and trend statistics of short series. Written for a few hundred values: the
// pairwise statistics are quadratic on purpose, being exact and free of tuning.
#include "runner/statistics/statistics.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace steady {

double mean(Values x) {
    if (x.empty()) return kUndefined;
    return std::accumulate(x.begin(), x.end(), 0.0) / real(x.size());
}

double median_in_place(std::vector<double>& x) {
    if (x.empty()) return kUndefined;
    const auto middle = x.begin() + static_cast<std::ptrdiff_t>(x.size() / 2);
    std::nth_element(x.begin(), middle, x.end());
    if (x.size() % 2 == 1) return *middle;
    return (*std::max_element(x.begin(), middle) + *middle) / 2;
}

double median(Values x) {
    std::vector<double> copy(x.begin(), x.end());
    return median_in_place(copy);
}

double variance(Values x, int ddof) {
    const double denominator = real(x.size()) - ddof;
    if (x.empty() || denominator <= 0) return kUndefined;
    const double centre = mean(x);
    double sum = 0;
    for (double value : x) sum += (value - centre) * (value - centre);
    return sum / denominator;
}

double sd(Values x, int ddof) { return std::sqrt(variance(x, ddof)); }

double quantile_sorted(Values sorted, double p) {
    if (sorted.empty() || !(p >= 0 && p <= 1)) return kUndefined;
    const double position = p * real(sorted.size() - 1);
    const auto below = static_cast<std::size_t>(position);
    if (below + 1 >= sorted.size()) return sorted.back();
    const double share = position - real(below);
    return sorted[below] + share * (sorted[below + 1] - sorted[below]);
}

double quantile(Values x, double p) {
    std::vector<double> sorted(x.begin(), x.end());
    std::sort(sorted.begin(), sorted.end());
    return quantile_sorted(sorted, p);
}

double mad(Values x) {
    const double centre = median(x);
    std::vector<double> distance;
    distance.reserve(x.size());
    for (double value : x) distance.push_back(std::abs(value - centre));
    return median_in_place(distance);
}

Summary summarise(Values x) {
    Summary s;
    s.n = x.size();
    if (x.empty()) return s;
    std::vector<double> sorted(x.begin(), x.end());
    std::sort(sorted.begin(), sorted.end());
    s.mean = mean(x);
    s.median = median(x);
    s.p10 = quantile_sorted(sorted, 0.10);
    s.p25 = quantile_sorted(sorted, 0.25);
    s.p75 = quantile_sorted(sorted, 0.75);
    s.p90 = quantile_sorted(sorted, 0.90);
    s.iqr = s.p75 - s.p25;
    s.mad_raw = mad(x);
    s.mad_sigma = kMadToSigma * s.mad_raw;
    s.sd = sd(x, 1);
    s.min = sorted.front();
    s.max = sorted.back();
    return s;
}

std::vector<double> pair_log_ratio(Values baseline, Values candidate, bool lower_is_better) {
    std::vector<double> d;
    for (std::size_t i = 0; i < std::min(baseline.size(), candidate.size()); ++i) {
        if (!(baseline[i] > 0 && candidate[i] > 0)) {
            d.push_back(kUndefined);
            continue;
        }
        const double log_ratio = std::log(baseline[i] / candidate[i]);
        d.push_back(lower_is_better ? log_ratio : -log_ratio);
    }
    return d;
}

namespace {

std::vector<std::size_t> order_of(Values x) {
    std::vector<std::size_t> order(x.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t i, std::size_t j) { return x[i] < x[j]; });
    return order;
}

}  // namespace

std::vector<double> midranks(Values x) {
    const std::vector<std::size_t> order = order_of(x);
    std::vector<double> ranks(x.size());
    for (std::size_t begin = 0; begin < order.size();) {
        std::size_t end = begin + 1;
        while (end < order.size() && x[order[end]] == x[order[begin]]) ++end;
        const double rank = real(begin + 1 + end) / 2;
        for (std::size_t i = begin; i < end; ++i) ranks[order[i]] = rank;
        begin = end;
    }
    return ranks;
}

std::vector<std::size_t> tie_groups(Values x) {
    std::vector<double> sorted(x.begin(), x.end());
    std::sort(sorted.begin(), sorted.end());
    std::vector<std::size_t> groups;
    for (std::size_t begin = 0; begin < sorted.size();) {
        std::size_t end = begin + 1;
        while (end < sorted.size() && sorted[end] == sorted[begin]) ++end;
        groups.push_back(end - begin);
        begin = end;
    }
    return groups;
}

double theil_sen(Values x) {
    std::vector<double> slopes;
    slopes.reserve(x.size() * (x.size() + 1) / 2);
    for (std::size_t i = 0; i < x.size(); ++i)
        for (std::size_t j = i + 1; j < x.size(); ++j)
            slopes.push_back((x[j] - x[i]) / real(j - i));
    return slopes.empty() ? 0 : median_in_place(slopes);
}

namespace {

// P(at most c discordant pairs) doubled, by counting permutations of n with k inversions.
double kendall_exact(std::size_t n, std::size_t c) {
    const std::size_t n_pairs = n * (n - 1) / 2;
    if (2 * c >= n_pairs) return 1;
    std::vector<double> probability(c + 1, 0.0);
    probability[0] = 1;
    for (std::size_t m = 2; m <= n; ++m) {
        std::vector<double> next(c + 1, 0.0);
        double window = 0;
        for (std::size_t k = 0; k <= c; ++k) {
            window += probability[k];
            if (k >= m) window -= probability[k - m];
            next[k] = window / real(m);
        }
        probability = std::move(next);
    }
    return std::min(1.0, 2 * std::accumulate(probability.begin(), probability.end(), 0.0));
}

}  // namespace

double kendall_p(Values x) {
    const std::size_t n = x.size();
    if (n < 2) return 1;
    std::size_t concordant = 0, discordant = 0;
    for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t j = i + 1; j < n; ++j) {
            concordant += x[j] > x[i];
            discordant += x[j] < x[i];
        }
    }
    const bool ties = concordant + discordant != n * (n - 1) / 2;
    if (!ties && n <= 33) return kendall_exact(n, std::min(concordant, discordant));
    double variance_18 = real(n) * real(n - 1) * (2 * real(n) + 5);
    for (std::size_t t : tie_groups(x)) variance_18 -= real(t) * real(t - 1) * (2 * real(t) + 5);
    if (variance_18 <= 0) return 1;
    const double z = (real(concordant) - real(discordant)) / std::sqrt(variance_18 / 18);
    return std::erfc(std::abs(z) / std::sqrt(2.0));
}

}  // namespace steady
