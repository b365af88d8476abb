// Times every selected (op, variant, shape) after checking it, with its place under the roof that
// this machine's memory sets.
#include <fmt/ranges.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "kernels/base/error.h"
#include "kernels/tool/measure.h"
#include "kernels/tool/verbs.h"

namespace steady::tool {
namespace {

using Json = nlohmann::ordered_json;

std::vector<std::string> shapes_to_bench(const Options& options, const OpInfo& op) {
    if (options.shape.empty()) return op.model_shapes();
    require_shape(op, options.shape);
    return {options.shape};
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

// Which variants this CPU cannot run, in a line per op and set of features.
void print_lacking(const std::vector<Row>& rows) {
    std::map<std::string, std::set<std::string_view>> names;
    for (const Row& row : rows) {
        if (cpu::has(row.variant->needs)) continue;
        names[fmt::format("{}: this CPU lacks {}", row.op->name, cpu::missing(row.variant->needs))]
            .insert(row.variant->name);
    }
    for (const auto& [what, variants] : names) {
        fmt::print("not timed, {} ({})\n", what, fmt::join(variants, ", "));
    }
}

}  // namespace

int run_bench(const Options& options) {
    if (options.device != "cpu") return run_gpu_bench(options);
    std::vector<Row> rows;
    for (const OpInfo* op : selected_ops(options)) {
        for (Row& row : checked_rows(options, *op, shapes_to_bench(options, *op))) {
            rows.push_back(std::move(row));
        }
    }
    Team team(options.threads);
    const Bandwidth read = measure_read_bandwidth(team);
    if (!options.json) {
        fmt::print(
            "{}; read limit {:.1f} GB/s (loop {}, median {:.1f}) with {} thread(s); weights {}\n",
            cpu::model_name(), read.gb_per_s, read.loop(), read.gb_per_s_median, read.threads,
            options.warm ? "warm" : "cold");
    }
    time_rows(rows, options, team);
    Json results = Json::array();
    bool failed = false;
    for (const Row& row : rows) {
        results.push_back(to_json(rows, row, read));
        const bool runs_here = cpu::has(row.variant->needs);
        if (!options.json && runs_here) print_row(results.back());
        failed = failed || (!row.refused.empty() && runs_here);
    }
    if (!options.json) print_lacking(rows);
    if (options.json) {
        const Json document = {{"cpu", cpu::model_name()},
                               {"threads", read.threads},
                               {"weights", options.warm ? "warm" : "cold"},
                               {"read_gb_per_s", read.gb_per_s},
                               {"read_gb_per_s_low", read.gb_per_s_low},
                               {"read_gb_per_s_high", read.gb_per_s},
                               {"read_loop", read.loop()},
                               {"results", results}};
        fmt::print("{}\n", document.dump(1));
    }
    return failed ? kExitInternal : kExitOk;
}

}  // namespace steady::tool
