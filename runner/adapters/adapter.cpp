// The table of adapters, and how an experiment picks one series from their rows.
#include "runner/adapters/adapter.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "kernels/base/error.h"
#include "runner/base/text.h"

namespace steady {

// Each in the file of its name.
namespace adapters_detail {
Adapter asv();
Adapter criterion();
Adapter go_testing();
Adapter google_benchmark();
Adapter hyperfine();
Adapter json_lines();
Adapter llama_bench();
Adapter perf_stat();
Adapter process_usage();
Adapter pytest_benchmark();
Adapter regular_expression();
Adapter steady_engine();
Adapter steady_kernels();
}  // namespace adapters_detail

const std::vector<Adapter>& adapters() {
    using namespace adapters_detail;
    static const std::vector<Adapter> all = {
        process_usage(),    perf_stat(),  json_lines(),         llama_bench(),
        google_benchmark(), hyperfine(),  criterion(),          asv(),
        pytest_benchmark(), go_testing(), regular_expression(), steady_engine(),
        steady_kernels(),
    };
    return all;
}

const Adapter* find_adapter(std::string_view name) {
    for (const Adapter& adapter : adapters()) {
        if (name == adapter.name) {
            return &adapter;
        }
    }
    return nullptr;
}

namespace {

std::string labels_text(const std::map<std::string, std::string>& labels) {
    std::string out;
    for (const auto& [key, value] : labels) {
        out += fmt::format("{}{}={}", out.empty() ? "" : " ", key, shorten(value, 80));
    }
    return escape_line(out.empty() ? "no labels" : out);
}

// Rows without labels belong to the whole process, whichever benchmark is picked.
bool fits(const AdapterRow& row, const RowSelection& selection) {
    if (row.labels.empty()) return true;
    for (const auto& [key, value] : selection.labels) {
        const auto found = row.labels.find(key);
        if (found == row.labels.end() || found->second != value) return false;
    }
    return selection.any.empty() ||
           std::any_of(row.labels.begin(), row.labels.end(),
                       [&](const auto& label) { return label.second == selection.any; });
}

constexpr std::size_t kMostShown = 8;

std::string some_of(const std::set<std::string>& words, const char* between) {
    std::vector<std::string> few(words.begin(), words.end());
    const std::size_t n = few.size();
    few.resize(std::min(n, kMostShown));
    return fmt::format("{}{}", fmt::join(few, between),
                       n > kMostShown ? fmt::format("{}and {} more", between, n - kMostShown) : "");
}

[[noreturn]] void refuse_missing(const std::vector<AdapterRow>& rows,
                                 const RowSelection& selection) {
    std::set<std::string> metrics, labels;
    std::vector<std::string> words;
    for (const AdapterRow& row : rows) {
        metrics.insert(escape_line(row.metric));
        if (row.metric != selection.metric) continue;
        labels.insert(labels_text(row.labels));
        for (const auto& [key, value] : row.labels) words.push_back(value);
    }
    if (labels.empty()) {
        throw Error(fmt::format(
            "the program measured no {}; it measured: {}; name one of them as the metric",
            escape_line(selection.metric), some_of(metrics, ", ")));
    }
    std::string wanted = labels_text(selection.labels);
    if (!selection.any.empty()) wanted = escape_line(selection.any);
    const std::string meant = closest(selection.any, words);
    throw Error(fmt::format("no {} with {}{}; there are: {}", selection.metric, wanted,
                            meant.empty() ? "" : "; did you mean " + escape_line(meant) + "?",
                            some_of(labels, "; ")));
}

// Repetitions in two units, or better in two directions, are no series.
void refuse_mixed(const Series& series, const AdapterRow& row) {
    if (row.unit != series.unit) {
        throw Error(
            fmt::format("the program measured {} in {} and in {} in one run; let it print one unit",
                        escape_line(row.metric), unit_text(series.unit), unit_text(row.unit)));
    }
    if (row.direction_said && series.direction_said && row.direction != series.direction) {
        throw Error(fmt::format("the program says of {} both that lower and that higher is better",
                                escape_line(row.metric)));
    }
}

}  // namespace

std::string unit_text(const std::string& unit) {
    return unit.empty() ? "no unit" : escape_line(shorten(unit, 40));
}

Series select_series(const std::vector<AdapterRow>& rows, const RowSelection& selection) {
    Series series;
    std::set<std::string> found;
    for (const AdapterRow& row : rows) {
        if (row.metric != selection.metric || !fits(row, selection)) continue;
        if (found.insert(labels_text(row.labels)).second && found.size() == 1) {
            series = {row.metric, row.unit, row.direction, {}, row.labels};
            series.direction_said = row.direction_said;
        }
        if (found.size() == 1) refuse_mixed(series, row);
        series.values.push_back(row.value);
    }
    if (found.empty()) refuse_missing(rows, selection);
    if (found.size() > 1) {
        throw Error(fmt::format("{} series of {}; select one of: {}", found.size(),
                                selection.metric, some_of(found, "; ")));
    }
    return series;
}

}  // namespace steady
