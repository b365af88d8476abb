// The sign-flip mixture e-process and the confidence sequence that inverts it. Sums run over log
// factors, so that a thousand pairs neither overflow nor underflow.
#include "runner/statistics/evidence.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "kernels/base/error.h"

namespace steady {

namespace {

constexpr double kScaleFloor = 0.05;  // of sigma0: identical pairs must not bet infinitely

double log_factor(double d, double scale, double theta, Side side, double eta,
                  const Betting& betting) {
    const double bet = static_cast<int>(side) * (d - theta) / scale;
    return std::log1p(betting.cap * std::tanh(eta * std::clamp(bet, -betting.clip, betting.clip)));
}

double log_mean_exp(const std::vector<double>& logs) {
    const double largest = *std::max_element(logs.begin(), logs.end());
    if (std::isinf(largest)) return largest;
    double sum = 0;
    for (double value : logs) sum += std::exp(value - largest);
    return largest + std::log(sum) - std::log(real(logs.size()));
}

}  // namespace

double bet_scale(Values before, double sigma0, const Betting& betting) {
    if (before.size() < 2) return sigma0;
    const double i = real(before.size());
    const double spread = kMadToSigma * mad(before) * std::sqrt(i / (i - 1));
    const double w = betting.prior_n / (betting.prior_n + i);
    return std::exp(w * std::log(sigma0) +
                    (1 - w) * std::log(std::max(spread, kScaleFloor * sigma0)));
}

std::vector<double> bet_scales(Values d, double sigma0, const Betting& betting) {
    std::vector<double> scales;
    for (std::size_t i = 0; i < d.size(); ++i)
        scales.push_back(bet_scale(d.first(i), sigma0, betting));
    return scales;
}

EProcess::EProcess(double theta, Side side, const Betting& betting)
    : theta_(theta), side_(side), betting_(&betting), log_wealth_(betting.etas.size(), 0.0) {}

double EProcess::add(double d, double scale) {
    for (std::size_t j = 0; j < log_wealth_.size(); ++j)
        log_wealth_[j] += log_factor(d, scale, theta_, side_, betting_->etas[j], *betting_);
    return log_mean_exp(log_wealth_);
}

std::vector<double> log_e_path(Values d, Values scales, double theta, Side side,
                               const Betting& betting) {
    EProcess process(theta, side, betting);
    std::vector<double> path;
    for (std::size_t i = 0; i < d.size(); ++i) path.push_back(process.add(d[i], scales[i]));
    return path;
}

double log_e(Values d, Values scales, double theta, Side side, const Betting& betting) {
    if (d.empty()) return 0;
    std::vector<double> wealth(betting.etas.size(), 0.0);
    for (std::size_t j = 0; j < wealth.size(); ++j)
        for (std::size_t i = 0; i < d.size(); ++i)
            wealth[j] += log_factor(d[i], scales[i], theta, side, betting.etas[j], betting);
    return log_mean_exp(wealth);
}

namespace {

constexpr int kBisections = 60;
constexpr int kNarrowingBisections = 30;  // resolution 2e-9: enough for a picture

// Moves from `out`, where `refuted` holds, towards `in`, to where it stops holding.
template <typename Refuted>
double bisect(double out, double in, int steps, const Refuted& refuted) {
    for (int step = 0; step < steps; ++step) {
        const double middle = (out + in) / 2;
        (refuted(middle) ? out : in) = middle;
    }
    return out;
}

std::optional<double> final_bound(double outer, Values d, Values scales, Side side,
                                  double threshold, const Betting& betting) {
    const auto refuted = [&](double theta) {
        const std::vector<double> path = log_e_path(d, scales, theta, side, betting);
        return !path.empty() && *std::max_element(path.begin(), path.end()) >= threshold;
    };
    if (!refuted(outer)) return std::nullopt;
    return bisect(outer, -outer, kBisections, refuted);
}

// The bound after one more pair: unchanged unless E of all pairs so far refutes it.
std::optional<double> tighten(std::optional<double> bound, double outer, Values d, Values scales,
                              Side side, double threshold, const Betting& betting) {
    const auto refuted = [&](double theta) {
        return log_e(d, scales, theta, side, betting) >= threshold;
    };
    const double now = bound.value_or(outer);
    if (!refuted(now)) return bound;
    return bisect(now, -outer, kNarrowingBisections, refuted);
}

}  // namespace

Bounds confidence_bounds(Values d, Values scales, double a, const Betting& betting,
                         double farthest) {
    const double threshold = std::log(2 / a);
    return {final_bound(-farthest, d, scales, Side::at_most, threshold, betting),
            final_bound(farthest, d, scales, Side::at_least, threshold, betting)};
}

std::vector<Bounds> confidence_sequence(Values d, Values scales, double a, const Betting& betting,
                                        double farthest) {
    const double threshold = std::log(2 / a);
    std::vector<Bounds> sequence;
    Bounds now;
    for (std::size_t n = 1; n <= d.size(); ++n) {
        const Values seen = d.first(n), scale = scales.first(n);
        now.low = tighten(now.low, -farthest, seen, scale, Side::at_most, threshold, betting);
        now.high = tighten(now.high, farthest, seen, scale, Side::at_least, threshold, betting);
        sequence.push_back(now);
    }
    return sequence;
}

namespace {

struct FlipTree {
    Values abs_d;
    double theta, sigma0;
    Side side;
    const Betting& betting;
    std::vector<double> d;

    // Mean of E over the sign patterns of the pairs that are still open.
    double mean_e(const std::vector<double>& wealth) {
        const std::size_t i = d.size();
        if (i == abs_d.size()) {
            double sum = 0;
            for (double value : wealth) sum += value;
            return sum / real(wealth.size());
        }
        const double scale = bet_scale(d, sigma0, betting);
        double total = 0;
        for (double sign : {1.0, -1.0}) {
            std::vector<double> next = wealth;
            const double value = theta + sign * abs_d[i];
            for (std::size_t j = 0; j < next.size(); ++j)
                next[j] *=
                    std::exp(log_factor(value, scale, theta, side, betting.etas[j], betting));
            d.push_back(value);
            total += mean_e(next);
            d.pop_back();
        }
        return total / 2;
    }
};

}  // namespace

double mean_e_over_sign_flips(Values abs_d, double theta, double sigma0, Side side,
                              const Betting& betting) {
    if (abs_d.size() > 22)
        throw Error(
            fmt::format("property_mean_over_all_sign_flips: {} values, at most 22", abs_d.size()));
    FlipTree tree{abs_d, theta, sigma0, side, betting, {}};
    return tree.mean_e(std::vector<double>(betting.etas.size(), 1.0));
}

}  // namespace steady
