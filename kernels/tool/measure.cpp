// Google Benchmark decides how often a row is called; calls take turns over cold weights.
#include "kernels/tool/measure.h"

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>

#include "kernels/base/error.h"
#include "kernels/cases/check.h"
#include "kernels/tool/cold_weights.h"

namespace steady::tool {
namespace {

using Json = nlohmann::ordered_json;

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
    row.layout_ratio = weights.layout_ratio();
    for (std::size_t i = 0; i < std::min<std::size_t>(weights.copies(), 4); ++i) {
        weights.use(i);
        team.run(*trial, *row.variant, options.cut);
    }
    std::size_t call = 4;
    for (auto unused : state) {
        (void)unused;
        weights.use(call++);
        team.run(*trial, *row.variant, options.cut);
    }
}

double reference_ns(const std::vector<Row>& rows, const Row& row) {
    for (const Row& other : rows) {
        if (other.op == row.op && other.shape == row.shape && other.variant->name == "reference") {
            return median(other.latency_ns);
        }
    }
    return 0;
}

// Where the row stands under the memory roof: the rate at which its arithmetic would run if it read
// as fast as this machine can.
Json roofline(const Row& row, const Cost& cost, double bytes, double ns, const Bandwidth& read) {
    const double intensity = cost.flops / bytes;
    const double moved = bytes + (row.layout_ratio - 1) * static_cast<double>(cost.weight_bytes);
    return {{"flop_per_byte", intensity},
            {"memory_roof_gflop_per_s", intensity * read.gb_per_s},
            {"gflop_per_s", cost.flops / ns},
            {"moved_gb_per_s", moved / ns},
            {"share_of_read_bandwidth", moved / ns / read.gb_per_s}};
}

}  // namespace

std::string largest_shape(const OpInfo& op) {
    const std::vector<std::string> shapes = op.model_shapes();
    return *std::max_element(shapes.begin(), shapes.end(), [&](const auto& a, const auto& b) {
        const Cost x = op.cost(a);
        const Cost y = op.cost(b);
        return x.weight_bytes + x.other_bytes < y.weight_bytes + y.other_bytes;
    });
}

void require_on_device(const VariantBase& variant, const Options& options) {
    const bool wants_gpu = options.device != "cpu";
    if (variant.on_gpu() == wants_gpu) return;
    if (wants_gpu) {
        throw Error{fmt::format("--device {}: {}/{} runs on the CPU; leave the option out",
                                options.device, variant.op, variant.name)};
    }
    throw Error{fmt::format(
        "{}/{} runs on a GPU: time it alone by `steady-kernels bench --device cuda --op {} "
        "--variant {}` (duet and tune take --device cuda too), and in a model by `steady-engine "
        "profile FILE --device cuda --kernel.{}={}`",
        variant.op, variant.name, variant.op, variant.name, variant.op, variant.name)};
}

std::vector<Row> checked_rows(const Options& options, const OpInfo& op,
                              const std::vector<std::string>& shapes) {
    std::vector<Row> rows;
    std::vector<const VariantBase*> variants = selected_variants(op, options.variant);
    if (variants.front()->name != "reference") {
        variants.insert(variants.begin(), &variant_named(op, "reference"));
    }
    for (const std::string& shape : shapes) {
        for (const VariantBase* variant : variants) {
            if (variant->on_gpu() && options.variant.empty()) continue;
            require_on_device(*variant, options);
            if (cpu::has(variant->needs) && !op.why_not(*variant, shape).empty() &&
                options.variant.empty()) {
                continue;
            }
            const CheckResult result = check_variant(op, *variant, shape, options.seed);
            rows.push_back({&op, variant, shape, result.message});
            // What this CPU lacks is told once, not shape by shape.
            const bool told = options.variant.empty() && !cpu::has(variant->needs);
            if (result.outcome == CheckOutcome::passed || told) continue;
            fmt::print(stderr, "not timed: {}: {}\n", full_name(rows.back()), result.message);
        }
    }
    return rows;
}

void time_rows(std::vector<Row>& rows, const Options& options, Team& team) {
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
    json["roofline"] = roofline(row, cost, bytes, middle, read);
    return json;
}

}  // namespace steady::tool
