// One row per gate: its interval against zero, the band that A against itself fills, and the limit
// that the gate has to exceed. The numbers stand beside it, so the picture needs no ruler.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "runner/figures/numbers.h"
#include "runner/figures/plots.h"

namespace steady::figures {
namespace {

constexpr double kLeft = 196, kRight = 540;
constexpr double kTop = 46, kRow = 34;

Scale scale_for(const IntervalPlot& plot) {
    double low = -0.005;
    double high = 0.005;
    const auto cover = [&](const std::optional<double>& value) {
        if (value && std::isfinite(*value)) {
            low = std::min(low, *value);
            high = std::max(high, *value);
        }
    };
    cover(plot.aa_band.low);
    cover(plot.aa_band.high);
    for (const IntervalRow& row : plot.rows) {
        if (!row.sets_scale) {
            continue;
        }
        for (const auto& value : {row.effect, row.interval.low, row.interval.high, row.limit,
                                  row.predicted_low, row.predicted_high}) {
            cover(value);
        }
    }
    const double pad = 0.06 * (high - low);
    return {low - pad, high + pad, kLeft, kRight};
}

std::string_view tone(const IntervalRow& row) {
    if (row.interval.low && *row.interval.low > 0) {
        return "good";
    }
    return row.interval.high && *row.interval.high < 0 ? "bad" : "open";
}

// The end of an interval: a cap where it is bounded and visible, an arrow head where it goes on.
void add_end(std::string& body, const Scale& scale, const std::optional<double>& value, double y,
             bool left, std::string_view style) {
    if (value && scale.inside(*value)) {
        add_line(body, scale.at(*value), y - 5, scale.at(*value), y + 5, style);
        return;
    }
    const double x = left ? scale.begin : scale.end;
    const double back = left ? 7 : -7;
    add_path(
        body,
        "M" + point(x, y) + " L" + point(x + back, y - 5) + " L" + point(x + back, y + 5) + " Z",
        style);
}

void add_interval(std::string& body, const Scale& scale, const IntervalRow& row, double y) {
    const std::string_view style = tone(row);
    const bool beyond_right = row.interval.low && *row.interval.low > scale.high;
    const bool beyond_left = row.interval.high && *row.interval.high < scale.low;
    if (beyond_right || beyond_left) {  // all of it lies outside: point there
        constexpr double kStub = 18;
        const double x = beyond_right ? scale.end : scale.begin;
        add_line(body, x, y, beyond_right ? x - kStub : x + kStub, y, std::string(style) + " ci");
        add_end(body, scale, std::nullopt, y, beyond_left, style);
        return;
    }
    if (row.interval.low || row.interval.high) {
        const double from = row.interval.low ? scale.at(*row.interval.low) : scale.begin;
        const double to = row.interval.high ? scale.at(*row.interval.high) : scale.end;
        add_line(body, from, y, to, y, std::string(style) + " ci");
        add_end(body, scale, row.interval.low, y, true, style);
        add_end(body, scale, row.interval.high, y, false, style);
    }
    if (scale.inside(*row.effect)) {
        add_circle(body, scale.at(*row.effect), y, 5, std::string(style) + " rim");
    }
}

void add_row(std::string& body, const Scale& scale, const IntervalRow& row, double y) {
    add_text(body, 14, y - 1, row.label, "b");
    add_text(body, 14, y + 13, row.detail, "m s");
    if (row.effect && row.limit && scale.inside(*row.limit)) {
        const double x = scale.at(*row.limit);
        add_line(body, x, y - 12, x, y + 12, "mark dash");
    }
    if (row.predicted_low && row.predicted_high) {
        const double x = scale.at(*row.predicted_low);
        add_rect(body, x, y + 8, scale.at(*row.predicted_high) - x, 4, "mark");
    }
    if (!row.effect) {
        add_text(
            body, scale.begin + 10, y + 4,
            row.outcome == "pass" || row.outcome == "fail" ? "exact, no interval" : "not measured",
            "m s");
        add_text(body, kWidth - 14, y + 4, row.outcome,
                 row.outcome == "fail"   ? "b bad"
                 : row.outcome == "pass" ? "b good"
                                         : "m",
                 Anchor::end);
        return;
    }
    add_interval(body, scale, row, y);
    add_text(body, kRight + 12, y - 1,
             arrow(row.interval.low, row.interval.high) + " " +
                 effect_text(row.effect, row.interval.low, row.interval.high),
             "");
    const std::string_view mark = row.outcome == "fail"   ? "s b bad"
                                  : row.outcome == "pass" ? "s b good"
                                                          : "s m";
    add_text(body, kRight + 12, y + 13, fmt::format("{} · {} pairs", row.outcome, row.pairs), mark);
}

}  // namespace

Panel interval_plot(const IntervalPlot& plot) {
    Panel panel;
    std::string& body = panel.body;
    const Scale scale = scale_for(plot);
    const double bottom = kTop + kRow * static_cast<double>(plot.rows.size());
    add_text(body, 14, 12, "Gates: effect and 95 % interval", "h");
    add_text(body, kLeft, 30, "← worse", "m s");
    add_text(body, kRight, 30, "better →", "m s", Anchor::end);
    const bool has_band = plot.aa_band.low && plot.aa_band.high;
    if (has_band) {
        const double x = scale.at(*plot.aa_band.low);
        add_rect(body, x, kTop - 8, scale.at(*plot.aa_band.high) - x, bottom - kTop + 8, "band");
    }
    const std::vector<double> marks = ticks(scale.low, scale.high, 6);
    const int decimals = marks.size() > 1 ? tick_decimals(marks[1] - marks[0]) : 1;
    for (const double mark : marks) {
        const double x = scale.at(mark);
        add_line(body, x, kTop - 8, x, bottom, std::fabs(mark) < 1e-12 ? "zero" : "grid");
        add_text(body, x, bottom + 14, percent(mark, decimals), "m s", Anchor::middle);
    }
    double y = kTop + kRow / 2 - 6;
    for (const IntervalRow& row : plot.rows) {
        add_row(body, scale, row, y);
        y += kRow;
    }
    std::string legend = "┊ limit that the gate must exceed";
    legend += has_band ? "   ▒ A against A (95 %)" : "";
    const bool predicted = std::any_of(plot.rows.begin(), plot.rows.end(),
                                       [](const IntervalRow& row) { return row.predicted_low; });
    legend += predicted ? "   ▭ predicted" : "";
    add_text(body, 14, bottom + 32, legend, "m s");
    panel.height = bottom + 38;
    return panel;
}

}  // namespace steady::figures
