// A history: one dot per measurement of a commit, the level of each segment with the band of a
// single point's noise, and a mark where the level changed. Old and new commits keep their distance
// in commits, not in days, since a change belongs to a commit.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "runner/figures/numbers.h"
#include "runner/figures/plots.h"

namespace steady::figures {
namespace {

constexpr double kLeft = 70, kRight = 740, kTop = 28, kBottom = 230;

struct Frame {
    Scale x, y;
};

Frame frame_of(const SeriesPlot& plot) {
    double low = plot.points.front().level, high = low;
    for (const SeriesPoint& one : plot.points) {
        low = std::min({low, one.value, one.level});
        high = std::max({high, one.value, one.level});
    }
    const double pad = std::max(0.08 * (high - low), 0.01 * high);
    const double last = std::max<double>(1, static_cast<double>(plot.points.size() - 1));
    return {{-0.5, last + 0.5, kLeft, kRight}, {low - pad, high + pad, kBottom, kTop}};
}

void add_levels(std::string& body, const SeriesPlot& plot, const Frame& frame) {
    for (std::size_t begin = 0; begin < plot.points.size();) {
        std::size_t end = begin;
        while (end < plot.points.size() && plot.points[end].level == plot.points[begin].level)
            ++end;
        const double level = plot.points[begin].level;
        const double x1 = frame.x.at(static_cast<double>(begin) - 0.5);
        const double x2 = frame.x.at(static_cast<double>(end) - 0.5);
        const double top = frame.y.at(level * std::exp(2 * plot.noise));
        const double bottom = frame.y.at(level * std::exp(-2 * plot.noise));
        add_rect(body, x1, top, x2 - x1, std::max(1.0, bottom - top), "area");
        add_line(body, x1, frame.y.at(level), x2, frame.y.at(level), "mark");
        begin = end;
    }
}

}  // namespace

Panel series_plot(const SeriesPlot& plot) {
    Panel panel;
    std::string& body = panel.body;
    add_text(body, 14, 12, plot.title, "h");
    if (plot.points.empty()) {
        add_text(body, 14, 40, "nothing is measured yet", "m");
        panel.height = 48;
        return panel;
    }
    panel.height = kBottom + 40;
    const Frame frame = frame_of(plot);
    const std::vector<double> marks = ticks(frame.y.low, frame.y.high, 5);
    const int decimals = marks.size() > 1 && marks[1] - marks[0] < 0.0999 ? 2 : 1;
    for (const double mark : marks) {
        add_line(body, kLeft, frame.y.at(mark), kRight, frame.y.at(mark), "grid");
        add_text(body, kLeft - 8, frame.y.at(mark) + 4, fmt::format("{:.{}f}×", mark, decimals),
                 "m s", Anchor::end);
    }
    add_levels(body, plot, frame);
    const double size = plot.points.size() > 200 ? 1.6 : 3.2;
    for (std::size_t i = 0; i < plot.points.size(); ++i) {
        add_circle(body, frame.x.at(static_cast<double>(i)), frame.y.at(plot.points[i].value), size,
                   "a dot");
    }
    for (const SeriesChange& change : plot.changes) {
        const double x = frame.x.at(static_cast<double>(change.index) - 0.5);
        add_line(body, x, kTop, x, kBottom, change.shift < 0 ? "bad dash" : "good dash");
        const bool at_end = x > kRight - 90;
        add_text(body, x + (at_end ? -5 : 5), kTop + 10,
                 fmt::format("{} {}", change.shift < 0 ? "▼" : "▲",
                             percent(std::expm1(change.shift), 1)),
                 change.shift < 0 ? "bad s" : "good s", at_end ? Anchor::end : Anchor::start);
    }
    add_text(body, kLeft, kBottom + 16, plot.points.front().label, "m s");
    add_text(body, kRight, kBottom + 16, plot.points.back().label, "m s", Anchor::end);
    add_text(
        body, 14, kBottom + 34,
        "● speed as a multiple of the frozen reference   ▒ level ± 2 noise   ╎ change of level",
        "m s");
    return panel;
}

}  // namespace steady::figures
