// Go's testing package: `go test -bench` or a test program with -test.bench, plain or as the events
// of `go test -json`. A line is a name, a number of iterations and pairs of value and unit.
#include <fmt/format.h>

#include <string>

#include "runner/adapters/parse.h"

namespace steady::adapters_detail {
namespace {

// The Output of all events, joined: a benchmark's name and its numbers come in two of them.
std::string plain_text(const Rows& rows, std::string_view text) {
    if (!trimmed(text).starts_with("{\"Time\"") && !trimmed(text).starts_with("{\"Action\"")) {
        return std::string(text);
    }
    std::string out;
    while (!text.empty()) {
        const std::string_view line = next_line(text);
        if (!trimmed(line).starts_with('{')) continue;
        const Json event = rows.parse(line);
        if (event.contains("Output")) out += rows.text(event, "Output", "");
    }
    return out;
}

std::vector<std::string_view> words_of(std::string_view line) {
    std::vector<std::string_view> out;
    for (std::string_view rest = trimmed(line); !rest.empty(); rest = trimmed(rest)) {
        const std::size_t end = std::min(rest.find_first_of(" \t"), rest.size());
        out.push_back(rest.substr(0, end));
        rest.remove_prefix(end);
    }
    return out;
}

struct Unit {
    std::string metric, unit;
};

Unit unit_of(std::string_view word) {
    if (word == "ns/op") return {"ns_per_op", "ns"};
    if (word == "MB/s") return {"mb_per_s", "MB/s"};
    if (word == "B/op") return {"bytes_per_op", "bytes"};
    if (word == "allocs/op") return {"allocs_per_op", "allocations"};
    std::string metric(word);
    if (const std::size_t slash = metric.find('/'); slash != metric.npos) {
        metric.replace(slash, 1, "_per_");
    }
    metric = metric_name(metric);
    const bool told = !find_metric(metric).unit.empty();  // "p99-ns" is in ns
    return {metric, told ? "" : std::string(word)};
}

void add_benchmark(Rows& rows, std::string_view line, std::map<std::string, int>& reps) {
    const auto words = words_of(line);
    if (words.size() < 4 || words.size() % 2 != 0) {
        rows.refuse_line(line, "allowed: a name, iterations, then pairs of value and unit");
    }
    rows.number_in(words[1], line);
    const std::string name(words[0]);
    const int rep = reps[name]++;
    for (std::size_t i = 2; i < words.size(); i += 2) {
        const Unit unit = unit_of(words[i + 1]);
        rows.add({.metric = unit.metric,
                  .unit = unit.unit,
                  .value = rows.number_in(words[i], line),
                  .rep = rep,
                  .labels = {{"benchmark", name}}},
                 name);
    }
}

std::vector<AdapterRow> read_go(const AdapterInput& input) {
    Rows rows("go");
    const std::string text = plain_text(rows, input.text);
    std::map<std::string, int> reps;
    for (std::string_view rest = text; !rest.empty();) {
        const std::string_view line = next_line(rest);
        const bool failed = line.starts_with("FAIL") || line.starts_with("panic:") ||
                            trimmed(line).starts_with("--- FAIL");
        if (failed) rows.refuse_line(line, "a test or benchmark failed");
        // A name alone announces a benchmark whose numbers, or whose log, follow.
        const bool numbers = line.starts_with("Benchmark") && words_of(line).size() > 1;
        if (numbers) add_benchmark(rows, line, reps);
    }
    if (rows.empty() && !trimmed(text).empty()) {
        std::string_view rest = trimmed(text);
        rows.refuse_line(next_line(rest),
                         "nothing was measured: no line begins with Benchmark; was -bench given?");
    }
    return std::move(rows).finish();
}

}  // namespace

Adapter go_testing() {
    return {.name = "go",
            .reads = "go test -bench, or a test program with -test.bench",
            .parse = read_go};
}

}  // namespace steady::adapters_detail
