// The bootstrap distribution of a mean, exactly. Two resamples that draw each value equally often
// have the same mean, so nⁿ ordered resamples collapse to C(2n−1, n) means with multinomial
// weights: 1.4 million at n = 12 instead of 9 · 10¹².
#include <algorithm>
#include <cmath>
#include <random>

#include "runner/statistics/statistics_planning.h"

namespace steady {

namespace {

constexpr std::size_t kMaxExact = 12;
constexpr std::size_t kMaxOrdered = 8;  // 8⁸ = 17 million ordered resamples

struct Weighted {
    double value, weight;  // weight: number of ordered resamples with this mean
};

class Resamples {
public:
    explicit Resamples(Values z) : z_(z) {
        log_factorial_.push_back(0);
        for (std::size_t i = 1; i <= z.size(); ++i)
            log_factorial_.push_back(log_factorial_.back() + std::log(real(i)));
        draw(0, z.size(), 0, 0);
        std::sort(all_.begin(), all_.end(),
                  [](const Weighted& x, const Weighted& y) { return x.value < y.value; });
    }
    std::vector<Weighted> take() { return std::move(all_); }

private:
    void draw(std::size_t i, std::size_t left, double sum, double log_divisor) {
        if (i + 1 == z_.size()) {
            sum += real(left) * z_[i];
            log_divisor += log_factorial_[left];
            const double ways = std::exp(log_factorial_[z_.size()] - log_divisor);
            all_.push_back({sum / real(z_.size()), std::round(ways)});
            return;
        }
        for (std::size_t count = 0; count <= left; ++count)
            draw(i + 1, left - count, sum + real(count) * z_[i],
                 log_divisor + log_factorial_[count]);
    }
    Values z_;
    std::vector<double> log_factorial_;
    std::vector<Weighted> all_;
};

std::vector<Weighted> drawn_resamples(Values z, std::size_t resamples, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    std::vector<Weighted> all;
    for (std::size_t b = 0; b < resamples; ++b) {
        double sum = 0;
        for (std::size_t i = 0; i < z.size(); ++i) sum += z[random() % z.size()];
        all.push_back({sum / real(z.size()), 1});
    }
    std::sort(all.begin(), all.end(),
              [](const Weighted& x, const Weighted& y) { return x.value < y.value; });
    return all;
}

// Share of resamples below the mean, ties counted half.
double share_below(const std::vector<Weighted>& resamples, double theta) {
    double total = 0, below = 0;
    for (const Weighted& one : resamples) {
        total += one.weight;
        if (std::abs(one.value - theta) <= 1e-12)
            below += one.weight / 2;
        else if (one.value < theta)
            below += one.weight;
    }
    return below / total;
}

// The same over all ordered resamples, each mean summed in the order drawn and compared bit by
// bit: published tables count ties this way, and means that are equal on paper may differ by one
// rounding.
double ordered_share_below(Values z, double theta, std::size_t left, double sum) {
    if (left == 0) {
        const double value = sum / real(z.size());
        return value < theta ? 1 : (value == theta ? 0.5 : 0);
    }
    double total = 0;
    for (double value : z) total += ordered_share_below(z, theta, left - 1, sum + value);
    return total / real(z.size());
}

double total_weight(const std::vector<Weighted>& resamples) {
    double total = 0;
    for (const Weighted& one : resamples) total += one.weight;
    return total;
}

// Type-7 quantile of the expanded list.
double weighted_quantile(const std::vector<Weighted>& sorted, double total, double p) {
    const double position = p * (total - 1);
    const double below = std::floor(position);
    double seen = 0;
    for (std::size_t i = 0; i < sorted.size(); ++i) {
        seen += sorted[i].weight;
        if (seen <= below) continue;
        const bool last_copy = seen <= below + 1 && i + 1 < sorted.size();
        const double next = last_copy ? sorted[i + 1].value : sorted[i].value;
        return sorted[i].value + (position - below) * (next - sorted[i].value);
    }
    return sorted.back().value;
}

// Of the jackknife values; 0 when all values are equal.
double acceleration(Values z) {
    const double centre = mean(z), n = real(z.size());
    double squares = 0, cubes = 0;
    for (double value : z) {
        const double u = n > 1 ? (value - centre) / (n - 1) : 0;  // jackknife mean − its i-th value
        squares += u * u;
        cubes += u * u * u;
    }
    return squares > 0 ? cubes / (6 * std::pow(squares, 1.5)) : 0;
}

}  // namespace

Bca bca_bootstrap_mean(Values z, double conf, std::size_t resamples, std::uint64_t seed) {
    Bca result;
    if (z.empty()) return result;
    const std::vector<Weighted> sorted =
        z.size() <= kMaxExact ? Resamples(z).take() : drawn_resamples(z, resamples, seed);
    result.theta = mean(z);
    const double total = total_weight(sorted);
    result.z0 =
        normal_quantile(z.size() <= kMaxOrdered ? ordered_share_below(z, result.theta, z.size(), 0)
                                                : share_below(sorted, result.theta));
    result.a = acceleration(z);
    const auto level = [&](double p) {
        const double z_p = result.z0 + normal_quantile(p);
        return normal_cdf(result.z0 + z_p / (1 - result.a * z_p));
    };
    result.level_low = level((1 - conf) / 2);
    result.level_high = level((1 + conf) / 2);
    result.low = weighted_quantile(sorted, total, result.level_low);
    result.high = weighted_quantile(sorted, total, result.level_high);
    return result;
}

}  // namespace steady
