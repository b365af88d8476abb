// criterion.rs: a folder per benchmark, whose new/ holds sample.json (iterations and time of each
// sample), estimates.json (its statistics) and benchmark.json (the name and the throughput).
#include <string>

#include "runner/adapters/parse.h"

namespace steady::adapters_detail {
namespace {

constexpr std::string_view kEstimates = "new/estimates.json";

const AdapterFile* find_file(const AdapterInput& input, const std::string& path) {
    for (const AdapterFile& file : input.files) {
        if (file.path == path) return &file;
    }
    return nullptr;
}

// Time of one iteration, in each sample.
std::vector<double> sample_times(const Rows& rows, const AdapterFile& file) {
    const Json sample = rows.parse(file.text);
    const std::vector<double> iterations = rows.numbers(sample, "iters", file.path);
    std::vector<double> times = rows.numbers(sample, "times", file.path);
    if (iterations.size() != times.size()) {
        rows.refuse(file.path, "\"iters\" and \"times\" differ in length");
    }
    for (std::size_t i = 0; i < times.size(); ++i) {
        if (!(iterations[i] > 0)) rows.refuse(file.path, "a sample without iterations");
        times[i] /= iterations[i];
    }
    return times;
}

void add_throughput(Rows& rows, const Json& benchmark, double median_ns, const AdapterRow& row,
                    const std::string& where) {
    if (!benchmark.is_object() || !benchmark.contains("throughput") || !(median_ns > 0)) return;
    const Json& throughput = benchmark.at("throughput");  // null where there is none
    for (const auto& [key, metric] :
         {std::pair("Bytes", "bytes_per_s"), std::pair("BytesDecimal", "bytes_per_s"),
          std::pair("Elements", "elements_per_s")}) {
        if (!throughput.is_object() || !throughput.contains(key)) continue;
        AdapterRow rate = row;
        rate.metric = metric;
        rate.value = rows.number(throughput, key, where) * 1e9 / median_ns;
        rows.add(std::move(rate), where);
    }
}

void add_benchmark(Rows& rows, const AdapterInput& input, const AdapterFile& file) {
    const std::string folder = file.path.substr(0, file.path.size() - kEstimates.size());
    const Json estimates = rows.parse(file.text);
    Json benchmark;
    std::string id = folder.substr(0, folder.size() - 1);
    if (const AdapterFile* described = find_file(input, folder + "new/benchmark.json")) {
        benchmark = rows.parse(described->text);
        id = rows.text(benchmark, "full_id", described->path);
    }
    AdapterRow row{.labels = {{"benchmark", id}}};
    double median_ns = 0;
    for (const char* statistic : {"mean", "median", "slope"}) {
        const bool flat =
            std::string_view(statistic) == "slope" && rows.is_absent(estimates, statistic);
        if (flat) continue;  // flat sampling has no slope
        row.metric = std::string(statistic) + "_ns";
        row.value = rows.number(rows.at(estimates, statistic, file.path), "point_estimate",
                                file.path + "/" + statistic);
        if (row.metric == "median_ns") median_ns = row.value;
        rows.add(row, file.path);
    }
    std::vector<double> times = {median_ns};
    if (const AdapterFile* sample = find_file(input, folder + "new/sample.json")) {
        times = sample_times(rows, *sample);
    }
    row.metric = "time_ns";
    rows.add_all(row, times, file.path);
    add_throughput(rows, benchmark, median_ns, row, folder + "new/benchmark.json");
}

std::vector<AdapterRow> read_criterion(const AdapterInput& input) {
    Rows rows("criterion");
    for (const AdapterFile& file : input.files) {
        const std::string_view path = file.path;
        const std::size_t n = kEstimates.size();
        const bool whole = path.size() > n + 1 && path[path.size() - n - 1] == '/';
        if (whole && path.ends_with(kEstimates)) add_benchmark(rows, input, file);
    }
    if (rows.empty()) {
        rows.refuse("",
                    "nothing was measured: no file <benchmark>/new/estimates.json in its "
                    "output folder; is the program built with criterion's main?");
    }
    return std::move(rows).finish();
}

bool is_sample_file(std::string_view path) {
    return path.ends_with("/new/estimates.json") || path.ends_with("/new/sample.json") ||
           path.ends_with("/new/benchmark.json");
}

}  // namespace

Adapter criterion() {
    return {.name = "criterion",
            .reads = "a Rust bench with criterion: cargo bench, or its program with --bench",
            .parse = read_criterion,
            .from = ResultFrom::folder,
            .folder_variable = "CRITERION_HOME",
            .takes_file = is_sample_file};
}

}  // namespace steady::adapters_detail
