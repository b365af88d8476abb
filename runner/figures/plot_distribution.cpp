// The values of A and of B over one axis: A's bars stand above it, B's hang below, in the same
// bins. Two levels of one arm, or a few far values, show here and nowhere in a median. Each arm's
// fullest bin has the full height: the shapes compare, not the counts.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "runner/figures/numbers.h"
#include "runner/figures/plots.h"

namespace steady::figures {
namespace {

constexpr double kLeft = 70, kRight = 690, kTop = 34, kAxis = 120, kBottom = 206;
constexpr std::size_t kFewestBins = 8, kMostBins = 40;

double quantile(const std::vector<double>& sorted, double share) {
    const double place = share * static_cast<double>(sorted.size() - 1);
    const auto below = static_cast<std::size_t>(place);
    const std::size_t above = std::min(below + 1, sorted.size() - 1);
    return sorted[below] + (place - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

// Freedman and Diaconis (1981), of the arm that spreads less.
std::size_t bins_for(const std::vector<double>& a, const std::vector<double>& b, double range) {
    const auto width = [](const std::vector<double>& sorted) {
        const double spread = quantile(sorted, 0.75) - quantile(sorted, 0.25);
        return 2 * spread / std::cbrt(static_cast<double>(sorted.size()));
    };
    const double finest = std::min(width(a), width(b));
    if (!(finest > 0)) return kMostBins;
    return std::clamp(static_cast<std::size_t>(std::ceil(range / finest)), kFewestBins, kMostBins);
}

std::vector<int> counted(const std::vector<double>& sorted, const Scale& x, std::size_t bins) {
    std::vector<int> counts(bins);
    for (const double value : sorted) {
        const double place = (value - x.low) / (x.high - x.low) * static_cast<double>(bins);
        ++counts[std::min(static_cast<std::size_t>(std::max(place, 0.0)), bins - 1)];
    }
    return counts;
}

std::string with_unit(double value, const std::string& unit) {
    if (unit == "ns") return duration(value);
    if (unit == "bytes") return bytes(value);
    return fmt::format("{:.4g}{}{}", value, unit.empty() ? "" : " ", unit);
}

void add_arm(std::string& body, const std::vector<double>& sorted, const Scale& x, bool above,
             std::size_t bins) {
    const std::vector<int> counts = counted(sorted, x, bins);
    const int most = *std::max_element(counts.begin(), counts.end());
    const double full = above ? kAxis - kTop : kBottom - kAxis;
    const double step = (kRight - kLeft) / static_cast<double>(bins);
    for (std::size_t i = 0; i < bins; ++i) {
        if (counts[i] == 0) continue;
        const double height = full * counts[i] / most;
        add_rect(body, kLeft + step * static_cast<double>(i) + 0.5, above ? kAxis - height : kAxis,
                 step - 1, height, above ? "a" : "bb");
    }
    const double middle = x.at(quantile(sorted, 0.5));
    add_line(body, middle, kAxis, middle, above ? kTop - 6 : kBottom + 6, "zero");
}

std::string line_of(const char* arm, const std::vector<double>& sorted, const std::string& unit) {
    return fmt::format("{}: median {}, half of the values from {} to {}, all from {} to {}", arm,
                       with_unit(quantile(sorted, 0.5), unit),
                       with_unit(quantile(sorted, 0.25), unit),
                       with_unit(quantile(sorted, 0.75), unit), with_unit(sorted.front(), unit),
                       with_unit(sorted.back(), unit));
}

}  // namespace

Panel distribution_plot(const DistributionPlot& plot) {
    Panel panel;
    std::string& body = panel.body;
    add_text(body, 14, 12, fmt::format("Values of A (above) and B (below), {}", plot.metric), "h");
    std::vector<double> a = plot.a, b = plot.b;
    std::sort(a.begin(), a.end());
    std::sort(b.begin(), b.end());
    if (a.size() < 2 || b.size() < 2) {
        add_text(body, 14, 40, "fewer than two values of an arm", "m");
        panel.height = 48;
        return panel;
    }
    const double low = std::min(a.front(), b.front()), high = std::max(a.back(), b.back());
    const double pad = high > low ? 0.02 * (high - low) : std::max(std::fabs(high) * 0.01, 1e-9);
    const Scale x{low - pad, high + pad, kLeft, kRight};
    const std::size_t bins = bins_for(a, b, x.high - x.low);
    for (const double mark : ticks(x.low, x.high, 5)) {
        add_line(body, x.at(mark), kTop, x.at(mark), kBottom, "grid");
        add_text(body, x.at(mark), kBottom + 20, with_unit(mark, plot.unit), "m s", Anchor::middle);
    }
    add_arm(body, a, x, true, bins);
    add_arm(body, b, x, false, bins);
    add_line(body, kLeft, kAxis, kRight, kAxis, "zero");
    add_text(body, kLeft - 10, kAxis - 8, "A", "b", Anchor::end);
    add_text(body, kLeft - 10, kAxis + 18, "B", "b", Anchor::end);
    add_text(body, 14, kBottom + 40, line_of("A", a, plot.unit), "m s");
    add_text(body, 14, kBottom + 56, line_of("B", b, plot.unit), "m s");
    panel.height = kBottom + 64;
    return panel;
}

}  // namespace steady::figures
