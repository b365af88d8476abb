// The energy statistic of all splits of a part takes O(n²): distances are summed once, and moving
// the split by one value moves one row of them from the right side to the left.
#include "runner/statistics/level_shift.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

namespace steady {
namespace {

constexpr std::size_t kMostValues = 1000;

struct EnergyCut {
    double q = -std::numeric_limits<double>::infinity();
    std::size_t at = 0;
};

EnergyCut best_cut(const std::vector<double>& y, const EDivisiveOptions& options) {
    const std::size_t n = y.size();
    const auto distance = [&](std::size_t i, std::size_t j) {
        const double d = std::abs(y[i] - y[j]);
        return options.alpha == 1 ? d : std::pow(d, options.alpha);
    };
    double left = 0, right = 0, between = 0;  // sums over pairs
    for (std::size_t i = 0; i < n; ++i)
        for (std::size_t j = i + 1; j < n; ++j) right += distance(i, j);
    EnergyCut best;
    for (std::size_t at = 1; at < n; ++at) {  // value at-1 goes to the left side
        double to_left = 0, to_right = 0;
        for (std::size_t i = 0; i + 1 < at; ++i) to_left += distance(i, at - 1);
        for (std::size_t j = at; j < n; ++j) to_right += distance(at - 1, j);
        left += to_left;
        right -= to_right;
        between += to_right - to_left;
        if (at < options.minseg || n - at < options.minseg) continue;
        const double a = real(at), b = real(n - at);
        const double energy =
            2 * between / (a * b) - 2 * left / (a * (a - 1)) - 2 * right / (b * (b - 1));
        const double q = a * b / (a + b) * energy;
        if (q > best.q) best = {q, at};
    }
    return best;
}

// Share of shuffled parts whose best split is at least as good.
bool significant(std::vector<double> part, double q, const EDivisiveOptions& options,
                 std::mt19937_64& random) {
    const int most =
        static_cast<int>(std::floor(options.significance * (options.permutations + 1))) - 1;
    int reached = 0;
    for (int i = 0; i < options.permutations; ++i) {
        for (std::size_t j = part.size(); j > 1; --j)  // std::shuffle differs between libraries
            std::swap(part[j - 1], part[random() % j]);
        reached += best_cut(part, options).q >= q ? 1 : 0;
        if (reached > most) return false;
    }
    return true;
}

}  // namespace

LevelShift level_shift(Values before, Values after, double confidence) {
    before = before.subspan(before.size() - std::min(before.size(), kMostValues));
    after = after.subspan(0, std::min(after.size(), kMostValues));
    LevelShift shift;
    if (before.empty() || after.empty()) return shift;
    std::vector<double> differences;
    differences.reserve(before.size() * after.size());
    for (const double a : after)
        for (const double b : before) differences.push_back(a - b);
    std::sort(differences.begin(), differences.end());
    shift.estimate = median(differences);
    const double n = real(before.size()), m = real(after.size());
    const double half = normal_quantile((1 + confidence) / 2) * std::sqrt(n * m * (n + m + 1) / 12);
    const double rank = std::floor(n * m / 2 - half);
    if (rank < 1) return shift;
    const auto k = static_cast<std::size_t>(rank) - 1;
    shift.low = differences[k];
    shift.high = differences[differences.size() - 1 - k];
    return shift;
}

std::vector<std::size_t> edivisive(Values y, const EDivisiveOptions& options) {
    std::mt19937_64 random(options.seed);
    std::vector<std::size_t> points;
    std::vector<std::pair<std::size_t, std::size_t>> parts{{0, y.size()}};
    while (!parts.empty()) {
        const auto [begin, end] = parts.back();
        parts.pop_back();
        if (end - begin < 2 * std::max<std::size_t>(2, options.minseg)) continue;
        const std::vector<double> part(y.begin() + static_cast<std::ptrdiff_t>(begin),
                                       y.begin() + static_cast<std::ptrdiff_t>(end));
        const EnergyCut split = best_cut(part, options);
        if (!(split.q > 0) || !significant(part, split.q, options, random)) continue;
        points.push_back(begin + split.at);
        parts.emplace_back(begin, begin + split.at);
        parts.emplace_back(begin + split.at, end);
    }
    std::sort(points.begin(), points.end());
    return points;
}

}  // namespace steady
