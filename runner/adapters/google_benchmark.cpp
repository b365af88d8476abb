// Google Benchmark, --benchmark_format=json. Iterations become rows. Aggregates are read only when
// the output has nothing else, because they are statistics over the same numbers.
#include <algorithm>
#include <array>
#include <string>

#include "runner/adapters/parse.h"

namespace steady::adapters_detail {
namespace {

double to_ns(const Rows& rows, const std::string& unit, const std::string& where) {
    for (const auto& [name, factor] :
         {std::pair("ns", 1.0), std::pair("us", 1e3), std::pair("ms", 1e6), std::pair("s", 1e9)}) {
        if (unit == name) {
            return factor;
        }
    }
    rows.refuse(where + "/time_unit", "found \"" + unit + "\", allowed: ns, us, ms, s");
}

// Numbers of a run that are no counters.
bool is_own_field(const std::string& key) {
    static constexpr std::array<const char*, 14> kOwn = {"family_index",
                                                         "per_family_instance_index",
                                                         "repetitions",
                                                         "repetition_index",
                                                         "threads",
                                                         "iterations",
                                                         "real_time",
                                                         "cpu_time",
                                                         "cpu_coefficient",
                                                         "real_coefficient",
                                                         "rms",
                                                         "bytes_per_second",
                                                         "items_per_second",
                                                         "error_occurred"};
    return std::find(kOwn.begin(), kOwn.end(), key) != kOwn.end();
}

void add_run(Rows& rows, const Json& run, const std::string& where) {
    AdapterRow row;
    row.labels = {{"benchmark", rows.text(run, "run_name", where)}};
    row.rep = rows.count(run, "repetition_index", where);
    const auto add = [&](const std::string& metric, double value) {
        row.metric = metric;
        row.value = value;
        rows.add(row, where);
    };
    const double factor = to_ns(rows, rows.text(run, "time_unit", where), where);
    add("real_time_ns", factor * rows.number(run, "real_time", where));
    add("cpu_time_ns", factor * rows.number(run, "cpu_time", where));
    for (const auto& [key, metric] : {std::pair("bytes_per_second", "bytes_per_s"),
                                      std::pair("items_per_second", "items_per_s")}) {
        if (run.contains(key)) add(metric, rows.number(run, key, where));
    }
    for (const auto& [key, value] : run.items()) {
        // A counter may be negative or no number at all; who selects one then reads that it is not
        // there.
        const bool counter = value.is_number() && !is_own_field(key) && value.get<double>() >= 0;
        if (counter) add(metric_name(key), value.get<double>());
    }
}

std::string message_of(const Rows& rows, const Json& run, const char* key,
                       const std::string& where) {
    return rows.is_absent(run, key) ? "no message" : rows.text(run, key, where);
}

bool has_iterations(const Rows& rows, const Json& runs) {
    return std::any_of(runs.begin(), runs.end(), [&](const Json& run) {
        return rows.text(run, "run_type", "/benchmarks") == "iteration";
    });
}

std::vector<AdapterRow> read_google(const AdapterInput& input) {
    Rows rows("google-benchmark");
    const Json document = rows.parse(input.text);
    const Json& runs = rows.list(document, "benchmarks", "");
    const bool iterations = has_iterations(rows, runs);
    std::string skipped;
    for (std::size_t i = 0; i < runs.size(); ++i) {
        const Json& run = runs[i];
        const std::string where = "/benchmarks/" + std::to_string(i);
        const std::string name = rows.text(run, "name", where);
        if (run.contains("error_occurred") && run.at("error_occurred") == true) {
            rows.refuse(where, name + " failed: " + message_of(rows, run, "error_message", where));
        }
        if (run.contains("skipped") && run.at("skipped") == true) {
            skipped = name + " was skipped: " + message_of(rows, run, "skip_message", where);
            continue;
        }
        const bool iteration = rows.text(run, "run_type", where) == "iteration";
        const bool median = !iteration && rows.text(run, "aggregate_name", where) == "median";
        if (iterations ? iteration : median) {
            add_run(rows, run, where);
        }
    }
    if (rows.empty() && !skipped.empty()) rows.refuse("", "nothing was measured: " + skipped);
    return std::move(rows).finish();
}

std::vector<std::string> google_command(std::vector<std::string> argv, const std::string& file) {
    const std::size_t end = argv.size();
    return with_options(std::move(argv), end,
                        {"--benchmark_out=" + file, "--benchmark_out_format=json"},
                        "--benchmark_out");
}

}  // namespace

Adapter google_benchmark() {
    return {.name = "google-benchmark",
            .reads = "a program built with Google Benchmark",
            .parse = read_google,
            .from = ResultFrom::file,
            .command = google_command};
}

}  // namespace steady::adapters_detail
