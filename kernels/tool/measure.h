// Timing of (op, variant, shape) rows, for bench and ladder: checked first, and what fails is not
// timed. Rates are set against the read bandwidth measured in the same run.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "kernels/cases/op_info.h"
#include "kernels/tool/options.h"
#include "kernels/tool/stream.h"
#include "kernels/tool/team.h"

namespace steady::tool {

struct Row {
    const OpInfo* op = nullptr;
    const VariantBase* variant = nullptr;
    std::string shape;
    std::string refused;               // why it was not timed
    std::vector<double> latency_ns{};  // one per repetition
    std::size_t copies = 0;            // of the weights, to keep them cold
    double layout_ratio = 1;           // bytes of the weights in its layout over the file's
};

// The model shape that reads most.
std::string largest_shape(const OpInfo& op);

// Error for a variant that does not run on --device: over a host's memory a GPU is not timed.
void require_on_device(const VariantBase& variant, const Options& options);

// The op's variants on each of the shapes, checked; the reference always, for the ratio. Variants
// that do not support a shape are left out, unless asked for by name. Refusals go to stderr.
std::vector<Row> checked_rows(const Options& options, const OpInfo& op,
                              const std::vector<std::string>& shapes);

// Fills latency_ns of the rows that are not refused.
void time_rows(std::vector<Row>& rows, const Options& options, Team& team);

// One row with its roofline; `rows` has the reference of the same shape.
nlohmann::ordered_json to_json(const std::vector<Row>& rows, const Row& row, const Bandwidth& read);

}  // namespace steady::tool
