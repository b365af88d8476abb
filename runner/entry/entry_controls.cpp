// Sections that only some entries have: the settings that a sweep tried before this confirmation,
// what a layout control shows, placements of the weights, clocks of a GPU.
#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "runner/base/text.h"
#include "runner/entry/entry_data.h"
#include "runner/entry/entry_sections.h"
#include "runner/figures/numbers.h"

namespace steady::entry {
namespace {

using Rows = std::vector<std::vector<std::string>>;

// A few pairs bound nothing: the bare number then.
std::string change_words(const SweepPoint& point) {
    const bool bounded = point.interval.low && point.interval.high;
    if (!point.effect || bounded) return effect_words(point.effect, point.interval);
    return figures::percent(*point.effect);
}

std::string outcome_words(const SweepReport& report, const SweepPoint& point) {
    if (point.id.empty()) return "equals A";
    if (report.chosen == point.values) return "**chosen**";
    if (point.verdict == "inconclusive") return "measured";
    return escape_markdown(point.verdict + (point.reason.empty() ? "" : " / " + point.reason));
}

// What B0 is: how it differs from A, by the words of the file.
Rows control_settings(const Spec& spec) {
    Spec control = spec;
    control.arms["B"] = spec.arms.at("B0");
    control.sweep.reset();
    Rows rows = {{"differs in", "A (baseline)", "B0 (layout control)"}};
    for (const Difference& one : differences(control)) {
        rows.push_back({markdown_code(one.path), markdown_code(one.a), markdown_code(one.b)});
    }
    return rows;
}

std::string layout_meaning(const LayoutEffect& control) {
    const Interval& range = control.interval;
    if (control.pairs == 0) return "No pair of A and B0 could be used, so nothing is controlled.";
    if ((range.low && *range.low > 0) || (range.high && *range.high < 0)) {
        return "**The layout alone changes the metric.** That much of B's change is not the "
               "candidate's merit.";
    }
    return "No effect of the layout is shown. A change of B inside this interval could still be "
           "one of the layout.";
}

}  // namespace

// Each block of pairs is measured on a placement of its own.
std::string placements(const Record& record) {
    const auto spread = placement_spread_of(record, pair_rows(record));
    if (!spread) return "";
    Rows rows = {{"placement", "pairs", "effect, median"}};
    for (std::size_t i = 0; i < spread->medians.size(); ++i) {
        rows.push_back({fmt::format("{}", i + 1), fmt::format("{}", spread->pairs[i]),
                        figures::percent(std::expm1(spread->medians[i]), 2)});
    }
    return fmt::format(
        "## Placements of the weights\n\n{}\nStandard deviation between placements {:.2f} %; "
        "permutation test p {:.2g}. Moving the weights took {:.1f} s in all.\n\n",
        table(rows), 100 * spread->spread, spread->p, placement_seconds(record));
}

// Whether both arms ran at the same clocks.
std::string clocks(const Record& record) {
    if (!record.analysis->clocks) return "";
    const ClockReport& report = *record.analysis->clocks;
    const auto mhz = [](double value) { return fmt::format("{:.0f}", value); };
    Rows rows = {{"arm", "SM clock, MHz: lowest", "median", "highest", "memory clock, MHz",
                  "chunks with lowered clocks", "reasons"}};
    for (const auto& [letter, arm] : {std::pair{"A", &report.a}, {"B", &report.b}}) {
        if (!*arm) {
            rows.push_back({letter, "on the CPU", "—", "—", "—", "—", "—"});
            continue;
        }
        const std::string reasons = reason_words((*arm)->reasons);
        rows.push_back({letter, mhz((*arm)->sm.lowest), mhz((*arm)->sm.median),
                        mhz((*arm)->sm.highest), range_words((*arm)->memory),
                        fmt::format("{:.0f} %", 100 * (*arm)->lowered),
                        reasons.empty() ? "none" : reasons});
    }
    std::string out = "## Clocks of the GPU\n\n" + table(rows) + "\n";
    if (const std::string caution = caution_words(report); !caution.empty()) {
        out += fmt::format("**Caution: {}.** ", escape_markdown(caution));
    } else if (report.change) {
        out += fmt::format("B's SM clock against A's: {}. ", figures::percent(*report.change, 2));
    }
    return out + fmt::format(
                     "As the driver tells them after each chunk of measured tokens, in {} "
                     "pairs.\n\n",
                     report.pairs);
}

// Where code and data lie changes speed by itself (Mytkowicz et al., 2009).
std::string layout(const Record& record) {
    if (!has_layout_control(record.spec)) return "";
    const Analysis& analysis = *record.analysis;
    const LayoutEffect control = layout_effect(record.spec, record.pairs, analysis.sigma0);
    const auto pairs = [](int n) { return n > 0 ? std::to_string(n) : std::string("—"); };
    const Rows rows = {
        {"compared in " + markdown_code(analysis.metric), "change, 95 % interval", "pairs"},
        {"B0 against A", effect_words(control.effect, control.interval), pairs(control.pairs)},
        {"B against A", effect_words(analysis.effect, analysis.interval), pairs(analysis.pairs)}};
    return "## Layout control\n\nB0 does the same work as A in another layout: where code and "
           "data lie changes speed by itself.\n\n" +
           table(control_settings(record.spec)) + "\n" + table(rows) + "\n" +
           layout_meaning(control) + " It decides nothing.\n\n";
}

std::string sweep(const Record& record) {
    if (!record.evidence.sweep) return "";
    const SweepReport& report = *record.evidence.sweep;
    Rows rows = {{}};
    if (!report.points.empty()) {
        for (const auto& [axis, value] : report.points.front().values) {
            rows[0].push_back(markdown_code(axis));
        }
    }
    for (const char* column : {"change against A, 95 % interval", "pairs", "outcome", "record"}) {
        rows[0].emplace_back(column);
    }
    for (const SweepPoint& point : report.points) {
        std::vector<std::string> cells;
        for (const auto& [axis, value] : point.values) cells.push_back(markdown_code(value));
        cells.push_back(change_words(point));
        cells.push_back(point.pairs > 0 ? std::to_string(point.pairs) : "—");
        cells.push_back(outcome_words(report, point));
        cells.push_back(point.id.empty() ? "—" : markdown_code(point.id));
        rows.push_back(std::move(cells));
    }
    return fmt::format(
               "## Settings tried\n\nThe sweep {} tried {} settings of B in {} with a few pairs "
               "each. The best was measured again: the verdict rests on those new pairs alone, "
               "because the best of several looks better than it is.\n\n",
               markdown_code(report.sweep), report.points.size(), markdown_code(report.metric)) +
           table(rows) + "\n";
}

}  // namespace steady::entry
