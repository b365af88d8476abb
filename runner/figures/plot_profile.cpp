// Where a token's time goes, op by op, A above B. Ops that matter little are joined, so that the
// difference between the arms stays in sight.
#include <fmt/format.h>

#include <algorithm>

#include "runner/figures/numbers.h"
#include "runner/figures/plots.h"

namespace steady::figures {
namespace {

constexpr double kLeft = 150, kRight = 470;
constexpr double kTop = 26, kRow = 30;
constexpr std::size_t kMaxBars = 9;

std::vector<ProfileBar> largest(std::vector<ProfileBar> bars) {
    std::stable_sort(bars.begin(), bars.end(), [](const ProfileBar& x, const ProfileBar& y) {
        return std::max(x.a_ns, x.b_ns) > std::max(y.a_ns, y.b_ns);
    });
    if (bars.size() <= kMaxBars) {
        return bars;
    }
    ProfileBar rest;
    rest.op = fmt::format("{} others", bars.size() - kMaxBars + 1);
    for (std::size_t i = kMaxBars - 1; i < bars.size(); ++i) {
        rest.a_ns += bars[i].a_ns;
        rest.b_ns += bars[i].b_ns;
    }
    bars.resize(kMaxBars - 1);
    bars.push_back(rest);
    return bars;
}

// Coloured only where an interval leaves out zero.
const char* style_of(const ProfileBar& bar) {
    if (bar.high && *bar.high < 0) return "s b good";
    return bar.low && *bar.low > 0 ? "s b bad" : "s m";
}

}  // namespace

Panel profile_plot(const ProfilePlot& plot) {
    Panel panel;
    std::string& body = panel.body;
    add_text(body, 14, 12, "Time per token, by op", "h");
    add_rect(body, 250, 3, 10, 10, "a");
    add_text(body, 265, 12, "A", "s");
    add_rect(body, 284, 3, 10, 10, "bb");
    add_text(body, 299, 12, "B", "s");
    const std::vector<ProfileBar> bars = largest(plot.bars);
    double most = 0;
    for (const ProfileBar& bar : bars) {
        most = std::max({most, bar.a_ns, bar.b_ns});
    }
    if (!(most > 0)) {
        add_text(body, 14, 40, "not measured", "m");
        panel.height = 48;
        return panel;
    }
    const bool intervals =
        std::any_of(bars.begin(), bars.end(), [](const auto& bar) { return bar.low.has_value(); });
    add_text(body, kWidth - 14, 12,
             intervals ? "change, 99 % interval" : "change, one run of each: no interval", "s m",
             Anchor::end);
    const Scale scale{0, most, kLeft, kRight};
    double y = kTop;
    for (const ProfileBar& bar : bars) {
        add_text(body, kLeft - 8, y + 15, bar.op, "", Anchor::end);
        add_rect(body, kLeft, y, scale.at(bar.a_ns) - kLeft, 10, "a");
        add_rect(body, kLeft, y + 11, scale.at(bar.b_ns) - kLeft, 10, "bb");
        add_text(body, kRight + 12, y + 15,
                 fmt::format("{} → {}", duration(bar.a_ns), duration(bar.b_ns)), "s");
        if (bar.change) {
            add_text(body, kWidth - 14, y + 15, effect_text(bar.change, bar.low, bar.high),
                     style_of(bar), Anchor::end);
        }
        y += kRow;
    }
    panel.height = y;
    return panel;
}

}  // namespace steady::figures
