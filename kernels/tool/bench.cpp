// Times every selected (op, variant, shape) with Google Benchmark, after checking it: what fails
// its check is not timed. Rates are set against the read bandwidth measured in the same run, and
// against the reference on the same shape.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "engine/protocol/error.h"
#include "kernels/base/check.h"
#include "kernels/tool/cold_weights.h"
#include "kernels/tool/stream.h"
#include "kernels/tool/team.h"
#include "kernels/tool/verbs.h"

namespace steady::tool {
namespace {

using Json = nlohmann::ordered_json;

struct Row {
    const OpInfo* op = nullptr;
    const VariantBase* variant = nullptr;
    std::string shape;
    std::string refused;               // why it was not timed
    std::vector<double> latency_ns{};  // one per repetition
    std::size_t copies = 0;
};

// Collects the repetitions of each benchmark instead of printing them.
class Collector : public benchmark::BenchmarkReporter {
public:
    bool ReportContext(const Context& /*context*/) override { return true; }
    void ReportRuns(const std::vector<Run>& runs) override {
        for (const Run& run : runs) {
            if (run.run_type != Run::RT_Iteration) continue;
            latency_ns[run.run_name.function_name].push_back(run.GetAdjustedRealTime());
        }
    }
    std::map<std::string, std::vector<double>> latency_ns;
};

std::string full_name(const Row& row) {
    return fmt::format("{}/{}/{}", row.op->name, row.variant->name, row.shape);
}

void time_row(benchmark::State& state, Row& row, const Options& options, Team& team) {
    const auto trial = row.op->trial(row.shape, options.seed, row.variant->input);
    ColdWeights weights(*trial, *row.variant, options.warm);
    row.copies = weights.copies();
    for (std::size_t i = 0; i < std::min<std::size_t>(weights.copies(), 4); ++i) {
        weights.use(i);
        team.run(*trial, *row.variant);
    }
    std::size_t call = 4;
    for (auto unused : state) {
        (void)unused;
        weights.use(call++);
        team.run(*trial, *row.variant);
    }
}

std::vector<std::string> shapes_to_bench(const Options& options, const OpInfo& op) {
    if (options.shape.empty()) return op.model_shapes();
    require_shape(op, options.shape);
    return {options.shape};
}

// Everything selected, checked; the reference of each shape always, for the ratio.
std::vector<Row> checked_rows(const Options& options) {
    std::vector<Row> rows;
    for (const OpInfo* op : selected_ops(options)) {
        std::vector<const VariantBase*> variants = selected_variants(*op, options.variant);
        if (variants.front()->name != "reference") {
            variants.insert(variants.begin(), &variant_named(*op, "reference"));
        }
        for (const std::string& shape : shapes_to_bench(options, *op)) {
            for (const VariantBase* variant : variants) {
                if (cpu::has(variant->needs) && !op->why_not(*variant, shape).empty() &&
                    options.variant.empty()) {
                    continue;
                }
                const CheckResult result = check_variant(*op, *variant, shape, options.seed);
                rows.push_back({op, variant, shape, result.message});
                if (result.outcome == CheckOutcome::passed) continue;
                fmt::print(stderr, "not timed: {}: {}\n", full_name(rows.back()), result.message);
            }
        }
    }
    return rows;
}

void time_all(std::vector<Row>& rows, const Options& options, Team& team) {
    for (Row& row : rows) {
        if (!row.refused.empty()) continue;
        benchmark::RegisterBenchmark(
            full_name(row).c_str(),
            [&](benchmark::State& state) { time_row(state, row, options, team); })
            ->Repetitions(options.repetitions)
            ->MinTime(options.seconds)
            ->UseRealTime();
    }
    Collector collector;
    benchmark::RunSpecifiedBenchmarks(&collector);
    for (Row& row : rows) row.latency_ns = collector.latency_ns[full_name(row)];
    benchmark::ClearRegisteredBenchmarks();
}

double reference_ns(const std::vector<Row>& rows, const Row& row) {
    for (const Row& other : rows) {
        if (other.op == row.op && other.shape == row.shape && other.variant->name == "reference") {
            return median(other.latency_ns);
        }
    }
    return 0;
}

Json to_json(const std::vector<Row>& rows, const Row& row, const Bandwidth& read) {
    Json json = {{"op", row.op->name}, {"variant", row.variant->name}, {"shape", row.shape}};
    if (!row.refused.empty()) {
        json["refused"] = row.refused;
        return json;
    }
    const Cost cost = row.op->cost(row.shape);
    const auto bytes = static_cast<double>(cost.weight_bytes + cost.other_bytes);
    const auto [low, high] = std::minmax_element(row.latency_ns.begin(), row.latency_ns.end());
    const double middle = median(row.latency_ns);
    json["latency_ns_median"] = middle;
    json["latency_ns_min"] = *low;
    json["latency_ns_max"] = *high;
    json["repetitions"] = row.latency_ns.size();
    json["bytes"] = bytes;
    json["gb_per_s"] = bytes / middle;
    json["share_of_read_bandwidth"] = bytes / middle / read.gb_per_s;
    json["gflop_per_s"] = cost.flops / middle;
    json["times_reference"] = reference_ns(rows, row) / middle;
    json["cold_copies"] = row.copies;
    return json;
}

void print_row(const Json& row) {
    const std::string name =
        fmt::format("{}/{}/{}", row["op"].get<std::string>(), row["variant"].get<std::string>(),
                    row["shape"].get<std::string>());
    if (row.contains("refused")) {
        fmt::print("{:<66} not timed: {}\n", name, row["refused"].get<std::string>());
        return;
    }
    const double middle = row["latency_ns_median"];
    const double spread =
        (row["latency_ns_max"].get<double>() - row["latency_ns_min"].get<double>());
    fmt::print("{:<66} {:>12.1f} ns ±{:>4.1f} % {:>7.2f} GB/s {:>4.0f} % of read {:>8.2f} × ref\n",
               name, middle, 50 * spread / middle, row["gb_per_s"].get<double>(),
               100 * row["share_of_read_bandwidth"].get<double>(),
               row["times_reference"].get<double>());
}

}  // namespace

int run_bench(const Options& options) {
    std::vector<Row> rows = checked_rows(options);
    Team team(options.threads);
    const Bandwidth read = measure_read_bandwidth(team);
    if (!options.json) {
        fmt::print(
            "{}; read bandwidth {:.1f} GB/s ({:.1f} … {:.1f}) with {} thread(s); weights {}\n",
            cpu::model_name(), read.gb_per_s, read.gb_per_s_low, read.gb_per_s_high, read.threads,
            options.warm ? "warm" : "cold");
    }
    time_all(rows, options, team);
    Json results = Json::array();
    bool failed = false;
    for (const Row& row : rows) {
        results.push_back(to_json(rows, row, read));
        if (!options.json) print_row(results.back());
        failed = failed || (!row.refused.empty() && cpu::has(row.variant->needs));
    }
    if (options.json) {
        const Json document = {{"cpu", cpu::model_name()},
                               {"threads", read.threads},
                               {"weights", options.warm ? "warm" : "cold"},
                               {"read_gb_per_s", read.gb_per_s},
                               {"read_gb_per_s_low", read.gb_per_s_low},
                               {"read_gb_per_s_high", read.gb_per_s_high},
                               {"results", results}};
        fmt::print("{}\n", document.dump(1));
    }
    return failed ? kExitInternal : kExitOk;
}

}  // namespace steady::tool
