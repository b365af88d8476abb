// `bench --device cuda`: variants of the GPU over weights in its memory that no cache holds, timed
// by CUDA's events around a recorded graph of calls, as the engine issues them.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "kernels/base/error.h"
#include "kernels/cases/check.h"
#include "kernels/runtime/gpu.h"
#include "kernels/runtime/read_limit.h"
#include "kernels/tool/gpu_trial.h"
#include "kernels/tool/measure.h"
#include "kernels/tool/verbs.h"

namespace steady::tool {
namespace {

using Json = nlohmann::ordered_json;

// The graph of calls is issued until `seconds` have passed.
void time_on_gpu(Row& row, const Options& options) {
    const auto trial = row.op->trial(row.shape, options.seed, row.variant->input);
    GpuTrial on_gpu(*trial, *row.variant, options.warm);
    row.copies = on_gpu.copies();
    row.layout_ratio = on_gpu.layout_ratio();
    GpuCalls calls(on_gpu, *row.variant);
    const double issue_ns = calls.issue_ns(2) * static_cast<double>(calls.per_issue());
    const int times = static_cast<int>(std::clamp(options.seconds * 1e9 / issue_ns, 1.0, 1e5));
    calls.issue_ns(times);  // until the clocks have risen
    for (int i = 0; i < options.repetitions; ++i) row.latency_ns.push_back(calls.issue_ns(times));
}

std::vector<Row> rows_on_gpu(const Options& options, const OpInfo& op) {
    std::vector<std::string> shapes = {options.shape};
    if (options.shape.empty()) shapes = op.model_shapes();
    std::vector<Row> rows;
    for (const std::string& shape : shapes) {
        require_shape(op, shape);
        for (const VariantBase* variant : selected_variants(op, options.variant)) {
            if (!variant->on_gpu() && options.variant.empty()) continue;
            require_on_device(*variant, options);
            if (options.variant.empty() && !op.why_not(*variant, shape).empty()) continue;
            const CheckResult result = check_variant(op, *variant, shape, options.seed);
            rows.push_back({&op, variant, shape, result.message});
            if (result.outcome == CheckOutcome::passed) continue;
            fmt::print(stderr, "not timed: {}/{}/{}: {}\n", op.name, variant->name, shape,
                       result.message);
        }
    }
    return rows;
}

void print_gpu_row(const Json& row) {
    const std::string name =
        fmt::format("{}/{}/{}", row["op"].get<std::string>(), row["variant"].get<std::string>(),
                    row["shape"].get<std::string>());
    if (row.contains("refused")) {
        fmt::print("{} not timed: {}\n", name, row["refused"].get<std::string>());
        return;
    }
    const double middle = row["latency_ns_median"];
    const double spread = row["latency_ns_max"].get<double>() - row["latency_ns_min"].get<double>();
    const Json& roof = row["roofline"];
    fmt::print(
        "{}\n  {:>10.2f} µs ±{:>4.1f} % {:>8.1f} GB/s {:>4.0f} % of read {:>7.2f} flop/byte "
        "{:>8.0f} of {:.0f} GFLOP/s under the memory roof\n",
        name, middle / 1e3, 50 * spread / middle, row["gb_per_s"].get<double>(),
        100 * roof["share_of_read_bandwidth"].get<double>(), roof["flop_per_byte"].get<double>(),
        roof["gflop_per_s"].get<double>(), roof["memory_roof_gflop_per_s"].get<double>());
}

}  // namespace

int run_gpu_bench(const Options& options) {
    use_gpu(options.device);
    std::vector<Row> rows;
    for (const OpInfo* op : selected_ops(options)) {
        for (Row& row : rows_on_gpu(options, *op)) rows.push_back(std::move(row));
    }
    if (rows.empty()) {
        throw Error{
            fmt::format("--device {}: no variant of {} runs on a GPU; `steady-kernels list` "
                        "shows which do (cuda_…)",
                        options.device, options.op.empty() ? "any op" : options.op)};
    }
    const Bandwidth read{.threads = 0, .gb_per_s = gpu::read_limit_gb_per_s()};
    if (!options.json) {
        fmt::print("{}; read limit {:.0f} GB/s; weights {}; calls recorded as a graph\n",
                   gpu::info().name, read.gb_per_s, options.warm ? "warm" : "cold");
    }
    Json results = Json::array();
    bool failed = false;
    for (Row& row : rows) {
        if (row.refused.empty()) time_on_gpu(row, options);
        failed = failed || !row.refused.empty();
        results.push_back(to_json(rows, row, read));
        results.back().erase("times_reference");  // the reference runs on the CPU
        if (!options.json) print_gpu_row(results.back());
    }
    if (options.json) {
        const Json document = {{"gpu", gpu::info().name},
                               {"weights", options.warm ? "warm" : "cold"},
                               {"read_gb_per_s", read.gb_per_s},
                               {"results", results}};
        fmt::print("{}\n", document.dump(1));
    }
    return failed ? kExitInternal : kExitOk;
}

}  // namespace steady::tool
