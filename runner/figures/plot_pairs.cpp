// Every pair in the order in which it was measured, discarded ones included, over the interval as
// it narrowed; and the evidence that decided, on the same horizontal axis.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "runner/figures/numbers.h"
#include "runner/figures/plots.h"

namespace steady::figures {
namespace {

constexpr double kLeft = 70, kRight = 690;
constexpr double kTop = 28;

// Robust: one wild pair must not flatten the rest; what lies outside is drawn at the edge.
Scale value_scale(const PairPlot& plot, double bottom) {
    std::vector<double> values;
    for (const PairPoint& point : plot.points) {
        values.push_back(point.value);
    }
    std::sort(values.begin(), values.end());
    double low = std::min(0.0, plot.worth.value_or(0));
    double high = std::max(0.0, plot.worth.value_or(0));
    if (!values.empty()) {
        const double middle = values[values.size() / 2];
        const double q1 = values[values.size() / 4];
        const double q3 = values[values.size() * 3 / 4];
        const double reach = std::max(4 * (q3 - q1), 0.004);
        low = std::min(low, std::max(values.front(), middle - reach));
        high = std::max(high, std::min(values.back(), middle + reach));
    }
    const double pad = std::max(0.1 * (high - low), 0.002);
    return {low - pad, high + pad, bottom, kTop};
}

double pair_x(std::size_t index, std::size_t n) {
    const double step = (kRight - kLeft) / static_cast<double>(std::max<std::size_t>(n, 1));
    return kLeft + step * (static_cast<double>(index) + 0.5);
}

void add_pair_axis(std::string& body, std::size_t n, double bottom) {
    const std::size_t step = n <= 12 ? 1 : n <= 30 ? 5 : n <= 120 ? 10 : n <= 600 ? 50 : 100;
    for (std::size_t i = 0; i < n; ++i) {
        if (i == 0 || (i + 1) % step == 0) {
            add_text(body, pair_x(i, n), bottom + 14, std::to_string(i + 1), "m s", Anchor::middle);
        }
    }
    add_text(body, kRight + 20, bottom + 14, "pair", "m s");
}

void add_narrowing(std::string& body, const PairPlot& plot, const Scale& scale) {
    const std::size_t n = plot.points.size();
    const double half = (kRight - kLeft) / static_cast<double>(std::max<std::size_t>(n, 1)) / 2;
    std::size_t valid = 0;
    for (std::size_t i = 0; i < n; ++i) {
        if (plot.points[i].discarded || valid >= plot.narrowing.size()) {
            continue;
        }
        const Bounds& bounds = plot.narrowing[valid++];
        if (!bounds.low && !bounds.high) {
            continue;
        }
        const double x = pair_x(i, n);
        const double top = bounds.high ? scale.at(*bounds.high) : scale.end;
        const double bottom = bounds.low ? scale.at(*bounds.low) : scale.begin;
        add_rect(body, x - half, top, 2 * half, bottom - top, "area");
    }
}

void add_point(std::string& body, const PairPoint& one, double x, const Scale& scale, double size) {
    const double y = scale.at(one.value);
    if (one.discarded) {
        add_path(body,
                 "M" + point(x - 4, y - 4) + " L" + point(x + 4, y + 4) + " M" +
                     point(x - 4, y + 4) + " L" + point(x + 4, y - 4),
                 "x");
    } else if (one.a_first) {
        add_circle(body, x, y, size, "a dot");
    } else {
        add_circle(body, x, y, size - 0.2, "a hollow");
    }
}

double max_of(const std::vector<double>& values, double floor) {
    double out = floor;
    for (const double value : values) {
        out = std::isfinite(value) ? std::max(out, value) : out;
    }
    return out;
}

double min_of(const std::vector<double>& values, double ceiling) {
    double out = ceiling;
    for (const double value : values) {
        out = std::isfinite(value) ? std::min(out, value) : out;
    }
    return out;
}

}  // namespace

Panel pair_plot(const PairPlot& plot) {
    constexpr double kBottom = 190;
    Panel panel;
    panel.height = kBottom + 40;
    std::string& body = panel.body;
    add_text(body, 14, 12, "Pairs of " + plot.metric + ", in order of measurement", "h");
    if (plot.points.empty()) {
        add_text(body, 14, 40, "no pair was measured", "m");
        panel.height = 48;
        return panel;
    }
    const Scale scale = value_scale(plot, kBottom);
    add_narrowing(body, plot, scale);
    const std::vector<double> marks = ticks(scale.low, scale.high, 5);
    const int decimals = marks.size() > 1 ? tick_decimals(marks[1] - marks[0]) : 1;
    for (const double mark : marks) {
        const double y = scale.at(mark);
        add_line(body, kLeft, y, kRight, y, std::fabs(mark) < 1e-12 ? "zero" : "grid");
        add_text(body, kLeft - 8, y + 4, percent(mark, decimals), "m s", Anchor::end);
    }
    if (plot.worth) {
        add_line(body, kLeft, scale.at(*plot.worth), kRight, scale.at(*plot.worth), "mark dash");
        add_text(body, kRight + 8, scale.at(*plot.worth) + 4, "worth", "m s");
    }
    const double size = plot.points.size() > 120 ? 1.8 : 3.8;
    for (std::size_t i = 0; i < plot.points.size(); ++i) {
        add_point(body, plot.points[i], pair_x(i, plot.points.size()), scale, size);
    }
    add_pair_axis(body, plot.points.size(), kBottom);
    const bool discarded = std::any_of(plot.points.begin(), plot.points.end(),
                                       [](const PairPoint& one) { return one.discarded; });
    add_text(body, 14, kBottom + 34,
             std::string("● A began more blocks   ○ B began more blocks") +
                 (discarded ? "   × discarded" : "") + "   ▒ 95 % interval so far",
             "m s");
    return panel;
}

Panel evidence_plot(const EvidencePlot& plot) {
    constexpr double kBottom = 120;
    constexpr double kLn10 = 2.302585092994046;
    Panel panel;
    panel.height = kBottom + 22;
    std::string& body = panel.body;
    add_text(body, 14, 12, "Evidence against “" + plot.question + "”", "h");
    if (plot.log_e.empty()) {
        add_text(body, 14, 40, "no pair was measured", "m");
        panel.height = 48;
        return panel;
    }
    const double low = min_of(plot.log_e, 0) / kLn10 - 0.3;
    const double high = std::max(max_of(plot.log_e, 0), plot.threshold) / kLn10 + 0.4;
    const Scale scale{low, high, kBottom, kTop};
    for (const double mark : ticks(low, high, 4)) {
        const double y = scale.at(mark);
        add_line(body, kLeft, y, kRight, y, std::fabs(mark) < 1e-12 ? "zero" : "grid");
        if (std::fabs(mark - std::round(mark)) < 1e-9) {
            const std::string text = std::fabs(mark) > 6.5 ? fmt::format("1e{:.0f}", mark)
                                     : mark < -0.5 ? fmt::format("1/{:.0f}", std::pow(10, -mark))
                                                   : fmt::format("{:.0f}", std::pow(10, mark));
            add_text(body, kLeft - 8, y + 4, text, "m s", Anchor::end);
        }
    }
    const double needed = scale.at(plot.threshold / kLn10);
    add_line(body, kLeft, needed, kRight, needed, "good dash");
    add_text(body, kRight, needed - 5, fmt::format("accept at {:.0f}", std::exp(plot.threshold)),
             "good s", Anchor::end);
    const std::size_t n = std::max(plot.n_slots, plot.log_e.size());
    const auto x_of = [&](std::size_t i) {
        return pair_x(i < plot.slots.size() ? plot.slots[i] : i, n);
    };
    std::string path = "M" + point(kLeft, scale.at(0));
    const std::size_t last = plot.log_e.size() - 1;
    for (std::size_t i = 0; i <= last; ++i) {
        path += " L" + point(x_of(i), scale.at(plot.log_e[i] / kLn10));
    }
    add_path(body, path, "step");
    add_circle(body, x_of(last), scale.at(plot.log_e[last] / kLn10), 4, "a dot");
    add_pair_axis(body, n, kBottom);
    if (plot.decided.empty()) return panel;
    if (plot.decided_at && *plot.decided_at <= last) {
        const double x = x_of(*plot.decided_at);
        add_line(body, x, kTop, x, kBottom, "mark dash");
    }
    add_text(body, 14, kBottom + 34, plot.decided, "m s");
    panel.height += 14;
    return panel;
}

}  // namespace steady::figures
