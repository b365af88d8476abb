// airspeed velocity: results/<machine>/<commit>-<environment>.json holds a table of results per
// benchmark, with one entry per combination of parameters; results/benchmarks.json their units.
#include <fmt/format.h>

#include <string>

#include "runner/adapters/parse.h"

namespace steady::adapters_detail {
namespace {

struct Benchmark {
    std::string name, unit, type;
    std::vector<std::string> parameter_names;
};

// Row-major, as asv stores results: the last parameter changes first.
std::vector<std::map<std::string, std::string>> combinations(const Rows& rows, const Json& params,
                                                             const Benchmark& benchmark,
                                                             const std::string& where) {
    std::vector<std::map<std::string, std::string>> out = {{{"benchmark", benchmark.name}}};
    for (std::size_t i = 0; i < params.size(); ++i) {
        const std::string name = i < benchmark.parameter_names.size()
                                     ? benchmark.parameter_names[i]
                                     : fmt::format("param{}", i + 1);
        if (!params[i].is_array()) rows.refuse(where + "/params", "a parameter without values");
        std::vector<std::map<std::string, std::string>> next;
        for (const auto& one : out) {
            for (const Json& value : params[i]) {
                next.push_back(one);
                next.back()[name] = value.is_string() ? value.get<std::string>() : value.dump();
            }
        }
        if (next.size() > 100000) rows.refuse(where + "/params", "more than 100000 combinations");
        out = std::move(next);
    }
    return out;
}

std::string metric_of(const Benchmark& benchmark) {
    if (benchmark.unit == "seconds") return "time_seconds";
    if (benchmark.type == "peakmemory") return "peak_memory_bytes";
    if (benchmark.unit == "bytes") return "memory_bytes";
    return "value";
}

void add_benchmark(Rows& rows, const Benchmark& benchmark, const Json& entry,
                   const std::map<std::string, std::size_t>& column, const std::string& where) {
    const auto cell = [&](const char* name) {
        const auto found = column.find(name);
        return found != column.end() && found->second < entry.size() ? entry[found->second]
                                                                     : Json();
    };
    const Json results = cell("result"), samples = cell("samples"), params = cell("params");
    if (!results.is_array()) rows.refuse(where + "/result", "not a list");
    const auto labels =
        combinations(rows, params.is_array() ? params : Json::array(), benchmark, where);
    if (labels.size() != results.size()) {
        rows.refuse(where, fmt::format("{} results for {} combinations of parameters",
                                       results.size(), labels.size()));
    }
    for (std::size_t i = 0; i < results.size(); ++i) {
        if (results[i].is_null()) continue;  // this combination failed or was skipped
        if (!results[i].is_number()) rows.refuse(where + "/result", "not a number");
        const std::string unit = benchmark.unit == "seconds" ? "s" : benchmark.unit;
        const AdapterRow row{.metric = metric_of(benchmark), .unit = unit, .labels = labels[i]};
        const Json one = {
            {"values", samples.is_array() && i < samples.size() ? samples[i] : Json()}};
        std::vector<double> values = {results[i].get<double>()};
        if (one.at("values").is_array()) values = rows.numbers(one, "values", where + "/samples");
        rows.add_all(row, values, where);
    }
}

// What benchmarks.json says of a benchmark; its name tells the kind where it says nothing.
Benchmark describe(const Rows& rows, const Json& described, const std::string& name) {
    Benchmark benchmark{.name = name};
    if (!described.is_object() || !described.contains(name)) {
        rows.refuse("benchmarks.json", fmt::format("no \"{}\"", name));
    }
    const std::string where = "benchmarks.json/" + name;
    benchmark.unit = rows.text(described.at(name), "unit", where);
    benchmark.type = rows.text(described.at(name), "type", where);
    for (const Json& parameter : rows.list(described.at(name), "param_names", where)) {
        if (parameter.is_string()) benchmark.parameter_names.push_back(parameter);
    }
    return benchmark;
}

// asv adds to the file of a commit: results of an earlier run stay in it.
bool is_older(const Json& entry, const std::map<std::string, std::size_t>& column,
              std::int64_t since_ms) {
    const auto found = column.find("started_at");
    if (found == column.end() || found->second >= entry.size()) return false;
    const Json& started = entry[found->second];
    return started.is_number() && started.get<double>() < static_cast<double>(since_ms);
}

void add_file(Rows& rows, const AdapterFile& file, const Json& described, std::int64_t since_ms,
              std::vector<std::string>& failed) {
    const Json document = rows.parse_python(file.text);
    std::map<std::string, std::size_t> column;
    for (const Json& name : rows.list(document, "result_columns", file.path)) {
        if (name.is_string()) column.emplace(name, column.size());
    }
    const Json& results = rows.at(document, "results", file.path);
    for (const auto& [name, entry] : results.items()) {
        const std::string where = file.path + "/results/" + name;
        if (!entry.is_array() && !entry.is_null()) rows.refuse(where, "not a list");
        if (is_older(entry, column, since_ms)) continue;
        const bool none = entry.empty() || entry[0].is_null();  // it failed
        if (none) failed.push_back(name);
        if (!none) add_benchmark(rows, describe(rows, described, name), entry, column, where);
    }
}

bool is_description(std::string_view path) {
    return path == "benchmarks.json" || path.ends_with("/benchmarks.json");
}

bool is_machine(std::string_view path) {
    return path == "machine.json" || path.ends_with("/machine.json");
}

std::vector<AdapterRow> read_asv(const AdapterInput& input) {
    Rows rows("asv");
    Json described;
    for (const AdapterFile& file : input.files) {
        if (is_description(file.path)) described = rows.parse_python(file.text);
    }
    std::vector<std::string> failed;
    for (const AdapterFile& file : input.files) {
        if (is_description(file.path) || is_machine(file.path)) continue;
        add_file(rows, file, described, input.since_ms, failed);
    }
    if (rows.empty()) {
        rows.refuse("",
                    failed.empty()
                        ? "nothing was measured: no results/<machine>/<commit>-….json was "
                          "written; asv run keeps results of an existing environment only "
                          "with --set-commit-hash"
                        : fmt::format("nothing was measured; failed: {}", fmt::join(failed, ", ")));
    }
    return std::move(rows).finish();
}

bool is_result(std::string_view path) { return path.ends_with(".json") && !is_machine(path); }

}  // namespace

Adapter asv() {
    return {.name = "asv",
            .reads = "asv run, from results/ or .asv/results/",
            .parse = read_asv,
            .from = ResultFrom::folder,
            .folders = {"results", ".asv/results"},
            .takes_file = is_result};
}

}  // namespace steady::adapters_detail
