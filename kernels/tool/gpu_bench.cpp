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

constexpr std::size_t kFewestCalls = 16, kMostCalls = 4096;  // in a graph

struct Calls {
    GpuTrial* trial;
    std::size_t n;
    static void enqueue(void* context) {
        const Calls& calls = *static_cast<const Calls*>(context);
        for (std::size_t i = 0; i < calls.n; ++i) calls.trial->enqueue(i);
    }
};

// One graph holds each copy of the weights equally often; it is issued until `seconds` have passed.
void time_on_gpu(Row& row, const Options& options) {
    const auto trial = row.op->trial(row.shape, options.seed, row.variant->input);
    GpuTrial on_gpu(*trial, *row.variant, options.warm);
    row.copies = on_gpu.copies();
    row.layout_ratio = on_gpu.layout_ratio();
    const std::size_t turns = (kFewestCalls + row.copies - 1) / row.copies;
    Calls calls{&on_gpu, std::min(kMostCalls, turns * row.copies)};
    gpu::Graph graph;
    graph.record(gpu::Launch::graph, Calls::enqueue, &calls);
    gpu::Watch watch;
    const auto issue = [&](int times) {
        watch.start();
        for (int i = 0; i < times; ++i) graph.issue();
        return watch.stop_ns() / times / static_cast<double>(calls.n);
    };
    issue(2);  // loads the code
    const double call_ns = issue(2);
    const double wanted = options.seconds * 1e9 / (call_ns * static_cast<double>(calls.n));
    const int times = static_cast<int>(std::clamp(wanted, 1.0, 1e5));
    issue(times);  // until the clocks have risen
    for (int i = 0; i < options.repetitions; ++i) row.latency_ns.push_back(issue(times));
}

std::vector<Row> rows_on_gpu(const Options& options, const OpInfo& op) {
    std::vector<std::string> shapes = {options.shape};
    if (options.shape.empty()) shapes = op.model_shapes();
    std::vector<Row> rows;
    for (const std::string& shape : shapes) {
        require_shape(op, shape);
        for (const VariantBase* variant : selected_variants(op, options.variant)) {
            if (!variant->on_gpu()) {
                if (options.variant.empty()) continue;
                throw Error{fmt::format("--device {}: {}/{} runs on the CPU; leave the option out",
                                        options.device, op.name, variant->name)};
            }
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

int gpu_number(const std::string& device) {
    const std::size_t colon = device.find(':');
    return colon == std::string::npos ? 0 : std::stoi(device.substr(colon + 1));
}

}  // namespace

int run_gpu_bench(const Options& options) {
    gpu::use(gpu_number(options.device));
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
