// Bencher's answer to `bencher perf` (or GET /v0/projects/…/perf): for each branch, testbed,
// benchmark and measure the metrics of all reports.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "runner/adapters/history_detail.h"
#include "runner/adapters/parse.h"

namespace steady::adapters_detail {
namespace {

struct Measure {
    std::string metric, unit;
    std::optional<Direction> direction;
};

// Bencher's own measures; of another one the unit tells which way is better.
Measure measure_of(const Rows& rows, const Json& measure, const std::string& where) {
    const std::string slug = rows.text(measure, "slug", where),
                      units = rows.is_absent(measure, "units") ? ""
                                                               : rows.text(measure, "units", where);
    Measure out{.metric = metric_name(slug), .unit = units};
    const std::size_t open = units.rfind('('), close = units.rfind(')');
    if (open != std::string::npos && close != std::string::npos && close > open) {
        out.unit = units.substr(open + 1, close - open - 1);  // "nanoseconds (ns)"
    }
    const bool rate = slug.find("throughput") != std::string::npos ||
                      units.find("/ second") != std::string::npos ||
                      units.find("per second") != std::string::npos || slug.ends_with("hit-rate");
    const bool cost =
        slug.find("latency") != std::string::npos ||
        slug.find("instructions") != std::string::npos ||
        slug.find("cycles") != std::string::npos || slug.find("time") != std::string::npos ||
        slug.find("size") != std::string::npos || slug.find("memory") != std::string::npos ||
        out.unit == "ns" || out.unit == "s" || out.unit == "B" || out.unit == "bytes";
    if (rate) out.direction = Direction::higher_is_better;
    if (cost && !rate) out.direction = Direction::lower_is_better;
    return out;
}

std::string name_of_line(const Rows& rows, const Json& result, const std::string& where) {
    std::string name = rows.text(rows.at(result, "benchmark", where), "name", where + "/benchmark");
    for (const char* key : {"parameter", "variant"}) {  // the word depends on the version
        if (rows.is_absent(result, key) || rows.is_absent(result.at(key), "parameters")) continue;
        const Json& parameters = result.at(key).at("parameters");
        if (!parameters.empty()) name += " " + parameters.dump();
    }
    return name;
}

// Older servers give the value flat; newer ones by name beside it.
std::optional<double> value_at(const Json& one, const char* name) {
    for (const Json& holder : {one.value("metric", Json()), one.value("metrics", Json())}) {
        if (!holder.is_object() || !holder.contains(name)) continue;
        const Json& value = holder.at(name);
        if (value.is_number()) return value.get<double>();
        if (value.is_object() && value.value("value", Json()).is_number()) {
            return value.at("value").get<double>();
        }
    }
    return std::nullopt;
}

void add_metric(History& history, const Rows& rows, const Json& one, HistoryPoint point,
                const std::string& where) {
    const Json& version = rows.at(one, "version", where);
    if (!rows.is_absent(version, "hash")) {
        point.commit = rows.text(version, "hash", where + "/version");
    }
    const auto at = seconds_of(rows.text(one, "start_time", where));
    if (!at) rows.refuse(where + "/start_time", "no time as 2026-11-24T03:00:00Z");
    point.date = utc_text(*at);
    const auto value = value_at(one, "value");
    if (!value) {
        history.left_out.push_back(where + ": no value");
    } else if (!(*value > 0)) {
        history.left_out.push_back(where + ": allowed: a value above zero");
    } else if (point.commit.empty()) {
        history.left_out.push_back(where + ": the report names no commit (version.hash is null)");
    } else {
        point.value = *value;
        point.low = value_at(one, "lower_value");
        point.high = value_at(one, "upper_value");
        history.points.push_back(std::move(point));
    }
}

}  // namespace

History read_bencher_history(const std::vector<AdapterFile>& files, const std::string& metric) {
    const Rows rows("bencher");
    History history;
    for (const AdapterFile& file : files) {
        const Json document = rows.parse(file.text);
        history.project =
            rows.text(rows.at(document, "project", file.path), "slug", file.path + "/project");
        const Json& results = rows.list(document, "results", file.path);
        for (std::size_t i = 0; i < results.size(); ++i) {
            const std::string where = fmt::format("{}/results/{}", file.path, i);
            const Json& result = results[i];
            const Measure measure =
                measure_of(rows, rows.at(result, "measure", where), where + "/measure");
            if (!metric.empty() && measure.metric != metric) continue;
            HistoryPoint line;
            line.benchmark = name_of_line(rows, result, where);
            line.metric = measure.metric;
            line.unit = measure.unit;
            line.branch = rows.text(rows.at(result, "branch", where), "name", where + "/branch");
            line.host = rows.text(rows.at(result, "testbed", where), "name", where + "/testbed");
            if (!measure.direction) {
                history.left_out.push_back(fmt::format(
                    "{}: {}: nothing says whether lower is better", where, measure.metric));
                continue;
            }
            line.direction = *measure.direction;
            const Json& metrics = rows.list(result, "metrics", where);
            for (std::size_t j = 0; j < metrics.size(); ++j) {
                add_metric(history, rows, metrics[j], line, fmt::format("{}/metrics/{}", where, j));
            }
        }
    }
    return history;
}

}  // namespace steady::adapters_detail
