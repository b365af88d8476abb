// Error budgets and planning formulae. None of these takes part in a verdict: they say how much
// error a campaign has spent and how many processes and tokens a measurement needs.
#include "runner/statistics/statistics_planning.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace steady {

ELond e_lond(Values e, double alpha) {
    constexpr double kPi = 3.14159265358979323846;
    ELond result;
    double discoveries = 0;
    for (std::size_t t = 1; t <= e.size(); ++t) {
        const double gamma = 6 / (kPi * kPi * real(t) * real(t));
        const double level = alpha * gamma * (discoveries + 1);
        result.level.push_back(level);
        result.reject.push_back(e[t - 1] >= 1 / level);
        discoveries += result.reject.back();
    }
    return result;
}

std::vector<std::size_t> e_bh(Values e, double alpha) {
    std::vector<std::size_t> order(e.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t i, std::size_t j) { return e[i] > e[j]; });
    std::size_t n_found = 0;
    for (std::size_t k = 1; k <= order.size(); ++k)
        if (real(k) * e[order[k - 1]] / real(e.size()) >= 1 / alpha) n_found = k;
    order.resize(n_found);
    std::sort(order.begin(), order.end());
    return order;
}

std::vector<double> holm(Values p) {
    std::vector<std::size_t> order(p.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t i, std::size_t j) { return p[i] < p[j]; });
    std::vector<double> adjusted(p.size());
    double largest = 0;
    for (std::size_t i = 0; i < order.size(); ++i) {
        largest = std::max(largest, real(p.size() - i) * p[order[i]]);
        adjusted[order[i]] = std::min(1.0, largest);
    }
    return adjusted;
}

Spending lan_demets(double t, double alpha) {
    if (!(t > 0)) return {};
    t = std::min(t, 1.0);
    return {2 * normal_sf(normal_quantile(1 - alpha / 2) / std::sqrt(t)),
            alpha * std::log1p((std::exp(1.0) - 1) * t)};
}

Sprt wald_sprt(double alpha, double beta) {
    return {std::log((1 - beta) / alpha), std::log(beta / (1 - alpha))};
}

int min_pairs_sign_flip(double alpha) {
    if (!(alpha > 0)) return 0;
    int n = 1;
    for (double p = 0.5; p > alpha; p /= 2) ++n;
    return n;
}

TwoLevel kalibera_jones(const std::vector<std::vector<double>>& data, double cost_iteration,
                        double cost_process, double conf) {
    TwoLevel result;
    std::vector<double> means, variances;
    double n_iterations = 0;
    for (const std::vector<double>& process : data) {
        means.push_back(mean(process));
        variances.push_back(variance(process, 1));
        n_iterations += real(process.size());
    }
    if (data.empty()) return result;
    const double r1 = n_iterations / real(data.size());
    result.s1_sq = mean(variances);
    result.s2_sq = variance(means, 1);
    result.t1_sq = result.s1_sq;
    result.t2_sq = result.s2_sq - result.s1_sq / r1;
    result.mean = mean(means);
    const double optimum = std::sqrt(cost_process / cost_iteration * result.t1_sq / result.t2_sq);
    if (result.t2_sq > 0 && std::isfinite(optimum)) result.r1_opt = std::ceil(optimum);
    const double n = real(data.size());
    result.ci_half_width = t_quantile(0.5 + conf / 2, n - 1) * std::sqrt(result.s2_sq / n);
    return result;
}

}  // namespace steady
