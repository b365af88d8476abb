// The effect of each pair against the speed that the machine had while it was measured.
#include <algorithm>

#include "runner/figures/numbers.h"
#include "runner/figures/plots.h"

namespace steady::figures {

Panel state_plot(const StatePlot& plot) {
    constexpr double kLeft = 70, kRight = 690, kTop = 28, kBottom = 170;
    Panel panel;
    panel.height = kBottom + 40;
    std::string& body = panel.body;
    add_text(body, 14, 12, "Effect against the pair's own speed", "h");
    if (plot.points.empty()) return panel;
    const auto by_speed = [](const StatePoint& a, const StatePoint& b) {
        return a.speed < b.speed;
    };
    const auto by_effect = [](const StatePoint& a, const StatePoint& b) {
        return a.effect < b.effect;
    };
    const auto [slowest, fastest] =
        std::minmax_element(plot.points.begin(), plot.points.end(), by_speed);
    const auto [least, most] =
        std::minmax_element(plot.points.begin(), plot.points.end(), by_effect);
    const double low = std::min(0.0, least->effect), high = std::max(0.0, most->effect);
    const double pad = std::max(0.08 * (high - low), 0.001);
    const double side = std::max(0.04 * (fastest->speed - slowest->speed), 1e-3);
    const Scale y{low - pad, high + pad, kBottom, kTop};
    const Scale x{slowest->speed - side, fastest->speed + side, kLeft, kRight};
    const std::vector<double> marks = ticks(y.low, y.high, 5);
    const int decimals = marks.size() > 1 ? tick_decimals(marks[1] - marks[0]) : 1;
    for (const double mark : marks) {
        const bool zero = mark > -1e-12 && mark < 1e-12;
        add_line(body, kLeft, y.at(mark), kRight, y.at(mark), zero ? "zero" : "grid");
        add_text(body, kLeft - 8, y.at(mark) + 4, percent(mark, decimals), "m s", Anchor::end);
    }
    for (const double mark : ticks(x.low, x.high, 5)) {
        add_text(body, x.at(mark), kBottom + 14, percent(mark, 0), "m s", Anchor::middle);
    }
    for (const StatePoint& point : plot.points) {
        add_circle(body, x.at(point.speed), y.at(point.effect), 3.8, "a dot");
    }
    add_text(body, 14, kBottom + 34,
             "speed of both arms together, beside the median pair; right is faster", "m s");
    return panel;
}

}  // namespace steady::figures
