// Exact paired and unpaired tests. Distributions of rank statistics are built by dynamic
// programming over probabilities (not counts), which neither overflow nor lose relative precision.
#include "runner/statistics/statistics_ranks.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "kernels/base/error.h"

namespace steady {

namespace {

constexpr std::size_t kMaxFlips = 44;

// All 2^n signed sums of z, sorted.
std::vector<double> signed_sums(Values z) {
    std::vector<double> sums{0.0};
    for (double value : z) {
        const std::size_t n = sums.size();
        for (std::size_t i = 0; i < n; ++i) {
            sums.push_back(sums[i] - value);
            sums[i] += value;
        }
    }
    std::sort(sums.begin(), sums.end());
    return sums;
}

// Share of pairs (one from each sorted list) whose sum is at least `limit`.
double share_at_least(const std::vector<double>& low, const std::vector<double>& high,
                      double limit) {
    double count = 0;
    std::size_t j = high.size();  // high[j..] reach the limit together with low[i]
    for (double value : low) {
        while (j > 0 && value + high[j - 1] >= limit) --j;
        count += real(high.size() - j);
    }
    return count / (real(low.size()) * real(high.size()));
}

}  // namespace

ExactP sign_flip_exact(Values z) {
    if (z.size() > kMaxFlips)
        throw Error(
            fmt::format("sign_flip_exact: {} values, at most {} can be enumerated; use "
                        "wilcoxon_signed_rank_exact",
                        z.size(), kMaxFlips));
    const std::vector<double> low = signed_sums(z.first(z.size() / 2));
    const std::vector<double> high = signed_sums(z.subspan(z.size() / 2));
    double observed = 0, scale = 0;
    for (double value : z) {
        observed += value;
        scale += std::abs(value);
    }
    const double slack = 1e-12 * scale;  // sums that differ by rounding only are equal
    ExactP p;
    p.p_greater = share_at_least(low, high, observed - slack);
    p.p_less = share_at_least(low, high, -observed - slack);  // the set of sums is symmetric
    p.p_two = std::min(1.0, 2 * std::min(p.p_greater, p.p_less));
    return p;
}

namespace {

// Probability of each value of the doubled W+ when every rank gets its sign by a fair coin.
std::vector<double> signed_rank_distribution(const std::vector<std::size_t>& doubled_ranks) {
    const std::size_t total =
        std::accumulate(doubled_ranks.begin(), doubled_ranks.end(), std::size_t{0});
    std::vector<double> probability(total + 1, 0.0);
    probability[0] = 1;
    std::size_t reach = 0;
    for (std::size_t rank : doubled_ranks) {
        reach += rank;
        for (std::size_t w = reach + 1; w-- > 0;) {
            const double with = w >= rank ? probability[w - rank] : 0;
            probability[w] = 0.5 * (probability[w] + with);
        }
    }
    return probability;
}

double sum(const std::vector<double>& p, std::size_t begin, std::size_t end) {
    return std::accumulate(p.begin() + static_cast<std::ptrdiff_t>(begin),
                           p.begin() + static_cast<std::ptrdiff_t>(end), 0.0);
}

struct Ranked {
    std::vector<double> ranks;  // of |z| without zeros
    double w_plus = 0;
};

Ranked rank_magnitudes(Values z) {
    std::vector<double> nonzero, magnitude;
    for (double value : z) {
        if (value == 0) continue;
        nonzero.push_back(value);
        magnitude.push_back(std::abs(value));
    }
    Ranked result{midranks(magnitude), 0};
    for (std::size_t i = 0; i < nonzero.size(); ++i)
        if (nonzero[i] > 0) result.w_plus += result.ranks[i];
    return result;
}

std::size_t whole(double value) { return static_cast<std::size_t>(std::llround(value)); }

}  // namespace

SignedRank wilcoxon_exact(Values z) {
    const Ranked ranked = rank_magnitudes(z);
    SignedRank result{ranked.w_plus, ranked.ranks.size(), {}};
    if (ranked.ranks.empty()) return result;
    std::vector<std::size_t> doubled;
    for (double rank : ranked.ranks) doubled.push_back(whole(2 * rank));
    const std::vector<double> p = signed_rank_distribution(doubled);
    const auto observed = whole(2 * ranked.w_plus);
    result.p.p_greater = std::min(1.0, sum(p, observed, p.size()));
    result.p.p_less = std::min(1.0, sum(p, 0, observed + 1));
    result.p.p_two = std::min(1.0, 2 * std::min(result.p.p_greater, result.p.p_less));
    return result;
}

SignedRankNormal wilcoxon_normal(Values z) {
    const Ranked ranked = rank_magnitudes(z);
    const double n = real(ranked.ranks.size());
    SignedRankNormal result;
    if (ranked.ranks.empty()) return result;
    const double variance = n * (n + 1) * (2 * n + 1) / 24;
    result.z_score = (ranked.w_plus - n * (n + 1) / 4) / std::sqrt(variance);
    result.p_greater = normal_sf(result.z_score);
    result.p_less = normal_cdf(result.z_score);
    result.p_two = std::min(1.0, 2 * normal_sf(std::abs(result.z_score)));
    return result;
}

std::optional<CriticalValue> wilcoxon_critical(std::size_t n, double alpha) {
    std::vector<std::size_t> ranks(n);
    std::iota(ranks.begin(), ranks.end(), std::size_t{1});
    const std::vector<double> p = signed_rank_distribution(ranks);
    std::optional<CriticalValue> critical;
    double tail = 0;
    for (std::size_t w = p.size(); w-- > 0;) {
        tail += p[w];
        if (tail > alpha) break;
        critical = CriticalValue{real(w), tail};
    }
    return critical;
}

namespace {

// Probability of each U for untied samples of n and m values.
std::vector<double> rank_sum_distribution(std::size_t n, std::size_t m) {
    // rows[j][u]: probability that j chosen of the first i pooled ranks give U = u
    std::vector<std::vector<double>> rows(n + 1, std::vector<double>(n * m + 1, 0.0));
    rows[0][0] = 1;
    const std::size_t total = n + m;
    for (std::size_t i = 1; i <= total; ++i) {
        for (std::size_t j = std::min(i, n); j > 0; --j) {
            if (i - j > m) continue;
            const std::size_t gain = i - j;  // values of the other sample below this one
            for (std::size_t u = n * m + 1; u-- > gain;) rows[j][u] += rows[j - 1][u - gain];
        }
    }
    const double n_ways = std::accumulate(rows[n].begin(), rows[n].end(), 0.0);
    for (double& p : rows[n]) p /= n_ways;
    return rows[n];
}

void exact_rank_sum(RankSum& result, std::size_t n, std::size_t m) {
    const std::vector<double> p = rank_sum_distribution(n, m);
    const double u_y = real(n) * real(m) - result.u_x;
    const auto tail = [&](double u) {
        return std::min(1.0, sum(p, static_cast<std::size_t>(u), p.size()));
    };
    result.p_x_greater = tail(result.u_x);
    result.p_x_less = tail(u_y);
    result.p_two = std::min(1.0, 2 * tail(std::max(result.u_x, u_y)));
    result.method = "exact";
}

void asymptotic_rank_sum(RankSum& result, Values pooled, double n, double m, bool continuity) {
    double tie_term = 0;
    for (std::size_t t : tie_groups(pooled)) tie_term += real(t) * real(t) * real(t) - real(t);
    const double total = n + m;
    const double variance = n * m / 12 * (total + 1 - tie_term / (total * (total - 1)));
    const auto tail = [&](double u) {
        if (!(variance > 0)) return 1.0;
        return normal_sf((u - n * m / 2 - (continuity ? 0.5 : 0.0)) / std::sqrt(variance));
    };
    const double u_y = n * m - result.u_x;
    result.p_x_greater = tail(result.u_x);
    result.p_x_less = tail(u_y);
    result.p_two = std::min(1.0, 2 * tail(std::max(result.u_x, u_y)));
    result.method = "asymptotic";
}

}  // namespace

RankSum mann_whitney(Values x, Values y, bool continuity, const std::string& method) {
    RankSum result;
    if (x.empty() || y.empty()) return result;
    std::vector<double> pooled(x.begin(), x.end());
    pooled.insert(pooled.end(), y.begin(), y.end());
    const std::vector<double> ranks = midranks(pooled);
    const double n = real(x.size()), m = real(y.size());
    result.u_x = sum(ranks, 0, x.size()) - n * (n + 1) / 2;
    const bool ties = tie_groups(pooled).size() != pooled.size();
    const bool exact = method == "exact" || (method == "auto" && !ties && n * m <= 2500);
    if (exact)
        exact_rank_sum(result, x.size(), y.size());
    else
        asymptotic_rank_sum(result, pooled, n, m, continuity);
    return result;
}

namespace {

std::vector<double> walsh_averages(Values z) {
    std::vector<double> walsh;
    walsh.reserve(z.size() * (z.size() + 1) / 2);
    for (std::size_t i = 0; i < z.size(); ++i)
        for (std::size_t j = i; j < z.size(); ++j) walsh.push_back((z[i] + z[j]) / 2);
    return walsh;
}

}  // namespace

double hodges_lehmann_estimate(Values z) {
    std::vector<double> walsh = walsh_averages(z);
    return median_in_place(walsh);
}

HodgesLehmann hodges_lehmann(Values z, double conf) {
    HodgesLehmann result;
    std::vector<double> walsh = walsh_averages(z);
    std::sort(walsh.begin(), walsh.end());
    result.n_walsh = walsh.size();
    result.estimate = median(walsh);
    const auto critical = wilcoxon_critical(z.size(), (1 - conf) / 2);
    if (walsh.empty() || !critical) return result;
    const std::size_t k = walsh.size() - static_cast<std::size_t>(critical->w) + 1;
    result.k = k;
    result.lower = walsh[k - 1];
    result.upper = walsh[walsh.size() - k];
    return result;
}

MedianRandomisation median_randomisation(Values x, Values y) {
    MedianRandomisation result;
    if (x.empty() || y.empty()) return result;
    std::vector<double> pooled(x.begin(), x.end());
    pooled.insert(pooled.end(), y.begin(), y.end());
    double n_ways = 1;
    for (std::size_t i = 1; i <= x.size(); ++i) n_ways *= real(y.size() + i) / real(i);
    if (n_ways > 5e6)
        throw Error(
            fmt::format("median_randomisation_exhaustive: {:.0f} relabellings, at most "
                        "five million can be enumerated",
                        n_ways));
    result.obs = std::abs(median(x) - median(y));
    std::vector<bool> chosen(pooled.size(), false);
    std::fill(chosen.begin(), chosen.begin() + static_cast<std::ptrdiff_t>(x.size()), true);
    std::vector<double> statistics, first, second;
    double at_least = 0;
    do {
        first.clear();
        second.clear();
        for (std::size_t i = 0; i < pooled.size(); ++i)
            (chosen[i] ? first : second).push_back(pooled[i]);
        statistics.push_back(std::abs(median_in_place(first) - median_in_place(second)));
        at_least += statistics.back() >= result.obs - 1e-12;
    } while (std::prev_permutation(chosen.begin(), chosen.end()));
    result.n_relabelings = statistics.size();
    result.p = at_least / real(statistics.size());
    result.q95 = quantile(statistics, 0.95);
    return result;
}

}  // namespace steady
