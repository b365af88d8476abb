// Google Benchmark, --benchmark_format=json. Iterations become rows; aggregates are other people's
// statistics over the same numbers and are read only when nothing else was printed.
#include <string>

#include "runner/pipeline/adapters/parse.h"

namespace steady {
namespace {

using adapters_detail::Json;
using adapters_detail::Rows;

double to_ns(const Rows& rows, const std::string& unit, const std::string& where) {
    for (const auto& [name, factor] :
         {std::pair("ns", 1.0), std::pair("us", 1e3), std::pair("ms", 1e6), std::pair("s", 1e9)}) {
        if (unit == name) {
            return factor;
        }
    }
    rows.refuse(where + "/time_unit", "found \"" + unit + "\", allowed: ns, us, ms, s");
}

void add_run(Rows& rows, const Json& run, const std::string& where) {
    const std::map<std::string, std::string> labels = {
        {"benchmark", rows.text(run, "run_name", where)}};
    const int rep = rows.count(run, "repetition_index", where);
    const double factor = to_ns(rows, rows.text(run, "time_unit", where), where);
    for (const auto& [key, metric] :
         {std::pair("real_time", "real_time_ns"), std::pair("cpu_time", "cpu_time_ns")}) {
        rows.add({metric, "ns", Direction::lower_is_better, factor * rows.number(run, key, where),
                  rep, labels},
                 where);
    }
    for (const auto& [key, metric, unit] :
         {std::tuple("bytes_per_second", "bytes_per_s", "bytes/s"),
          std::tuple("items_per_second", "items_per_s", "items/s")}) {
        if (run.contains(key)) {
            rows.add({metric, unit, Direction::higher_is_better, rows.number(run, key, where), rep,
                      labels},
                     where);
        }
    }
}

}  // namespace

std::vector<AdapterRow> read_google_benchmark(std::string_view text) {
    Rows rows("google-benchmark");
    const Json document = rows.parse(text);
    const Json& runs = rows.list(document, "benchmarks", "");
    bool iterations = false;
    for (const Json& run : runs) {
        iterations = iterations || rows.text(run, "run_type", "/benchmarks") == "iteration";
    }
    for (std::size_t i = 0; i < runs.size(); ++i) {
        const Json& run = runs[i];
        const std::string where = "/benchmarks/" + std::to_string(i);
        if (run.contains("error_occurred") && run.at("error_occurred") == true) {
            rows.refuse(where,
                        rows.text(run, "name", where) + " failed: " +
                            (run.contains("error_message") ? rows.text(run, "error_message", where)
                                                           : "no message"));
        }
        const bool iteration = rows.text(run, "run_type", where) == "iteration";
        const bool median = !iteration && rows.text(run, "aggregate_name", where) == "median";
        if (iterations ? iteration : median) {
            add_run(rows, run, where);
        }
    }
    return std::move(rows).finish();
}

}  // namespace steady
