// The last resort: a regular expression with a group named `value`, tried again after each match.
// A group named `unit` gives the unit; other named groups become labels.
#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "runner/adapters/parse.h"
#include "runner/base/pattern.h"

namespace steady::adapters_detail {
namespace {

AdapterRow row_of(const Rows& rows, const Pattern& pattern, const Pattern::Found& found,
                  const std::string& metric) {
    AdapterRow row{.metric = metric};
    for (const auto& [group, number] : pattern.named_groups()) {
        const std::string& text = found.groups[number];
        if (group == "value") {
            row.value = rows.number_in(text, found.groups[0]);
        } else if (group == "unit") {
            row.unit = text;
        } else {
            row.labels[group] = text;
        }
    }
    rows.check_unit(row, found.groups[0]);
    return row;
}

std::vector<AdapterRow> read_regex(const AdapterInput& input) {
    Rows rows("regex");
    if (input.pattern.empty()) rows.refuse("", "no pattern; give one with a group (?<value>…)");
    const Pattern pattern(input.pattern);
    const auto& names = pattern.named_groups();
    const bool has_value = std::any_of(names.begin(), names.end(),
                                       [](const auto& one) { return one.first == "value"; });
    if (!has_value) {
        rows.refuse("", fmt::format("the pattern \"{}\" has no group (?<value>…)", input.pattern));
    }
    std::map<std::map<std::string, std::string>, int> reps;
    for (auto found = pattern.search(input.text); found;) {
        AdapterRow row =
            row_of(rows, pattern, *found, input.metric.empty() ? "value" : input.metric);
        row.rep = reps[row.labels]++;
        rows.add(std::move(row), found->groups[0]);
        found = pattern.search(input.text, std::max(found->end, found->begin + 1));
    }
    if (rows.empty()) {
        rows.refuse_line(trimmed(input.text),
                         fmt::format("nothing fits the pattern \"{}\"", input.pattern));
    }
    return std::move(rows).finish();
}

}  // namespace

Adapter regular_expression() {
    return {.name = "regex",
            .reads = "any text on stdout, by a pattern with a group (?<value>…)",
            .parse = read_regex};
}

}  // namespace steady::adapters_detail
