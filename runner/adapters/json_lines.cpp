// The protocol for programs without a benchmark framework: one JSON object per line,
// {"metric": "parse_ns", "value": 812.5, "unit": "ns"}, with "direction" and "labels" where they
// are wanted. Lines that do not begin with { are the program's own.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>

#include "runner/adapters/parse.h"

namespace steady::adapters_detail {
namespace {

constexpr std::array<const char*, 5> kKeys = {"metric", "value", "unit", "direction", "labels"};

void check_keys(const Rows& rows, const Json& line, std::string_view text) {
    for (const auto& [key, value] : line.items()) {
        const bool known = std::any_of(kKeys.begin(), kKeys.end(),
                                       [&key = key](const char* one) { return key == one; });
        if (!known) {
            rows.refuse_line(
                text, fmt::format("unknown key \"{}\", allowed: {}", key, fmt::join(kKeys, ", ")));
        }
    }
}

AdapterRow row_of(const Rows& rows, const Json& line, std::string_view text) {
    check_keys(rows, line, text);
    const std::string where(trimmed(text).substr(0, 80));
    AdapterRow row;
    row.metric = rows.text(line, "metric", where);
    if (row.metric != metric_name(row.metric)) {
        rows.refuse_line(text, "a metric's name is up to 64 of a-z 0-9 _ and ., a letter first");
    }
    row.value = rows.number(line, "value", where);
    if (line.contains("unit")) row.unit = rows.text(line, "unit", where);
    rows.check_unit(row, where);
    if (line.contains("direction")) {
        row.direction = direction_of(rows.text(line, "direction", where));
        if (!row.direction) rows.refuse_line(text, "direction is lower or higher");
        row.direction_said = true;
    }
    if (!line.contains("labels")) return row;
    if (!line.at("labels").is_object()) rows.refuse_line(text, "labels is an object of texts");
    for (const auto& [key, value] : line.at("labels").items()) {
        row.labels[key] = rows.text(line.at("labels"), key.c_str(), where);
    }
    return row;
}

std::vector<AdapterRow> read_lines(const AdapterInput& input) {
    Rows rows("lines");
    std::map<std::pair<std::string, std::map<std::string, std::string>>, int> reps;
    for (std::string_view rest = input.text; !rest.empty();) {
        const std::string_view line = next_line(rest);
        if (!trimmed(line).starts_with('{')) continue;
        const Json object = Json::parse(line.begin(), line.end(), nullptr, false);
        if (!object.is_object()) rows.refuse_line(line, "it is no JSON object");
        AdapterRow row = row_of(rows, object, line);
        row.rep = reps[{row.metric, row.labels}]++;
        rows.add(std::move(row), std::string(trimmed(line).substr(0, 80)));
    }
    if (rows.empty() && !trimmed(input.text).empty()) {
        std::string_view rest = trimmed(input.text);
        rows.refuse_line(next_line(rest),
                         "nothing was measured: no line like "
                         "{\"metric\": \"wall_seconds\", \"value\": 1.25, \"unit\": \"s\"}");
    }
    return std::move(rows).finish();
}

}  // namespace

Adapter json_lines() {
    return {.name = "lines",
            .reads = "lines {\"metric\": …, \"value\": …, \"unit\": …} on stdout",
            .parse = read_lines};
}

}  // namespace steady::adapters_detail
