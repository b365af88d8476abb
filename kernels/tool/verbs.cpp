// list and check, and the way from a command line to a verb.
#include "kernels/tool/verbs.h"

#include <fmt/format.h>

#include <exception>
#include <nlohmann/json.hpp>

#include "kernels/base/error.h"
#include "kernels/cases/check.h"

namespace steady::tool {
namespace {

using Json = nlohmann::ordered_json;

struct Tally {
    int passed = 0;
    int failed = 0;
    int skipped = 0;
};

std::vector<std::string> shapes_to_check(const Options& options, const OpInfo& op) {
    if (options.shape.empty()) return check_shapes(op, options.seed);
    require_shape(op, options.shape);
    return {options.shape};
}

const char* outcome_name(CheckOutcome outcome) {
    switch (outcome) {
        case CheckOutcome::passed:
            return "passed";
        case CheckOutcome::failed:
            return "failed";
        case CheckOutcome::skipped:
            return "skipped";
    }
    return "";
}

// Shapes outside a variant's declared range are not part of its promise: they are left out, unless
// asked for by name. A missing CPU feature stays visible as a skip.
bool is_outside(const OpInfo& op, const VariantBase& variant, const std::string& shape) {
    return lacking(variant).empty() && !op.why_not(variant, shape).empty();
}

Json check_one(const Options& options, const OpInfo& op, const VariantBase& variant,
               const std::string& shape, ShapeCheck& check, Tally& tally) {
    const CheckResult result = check(variant);
    if (result.outcome == CheckOutcome::passed) ++tally.passed;
    if (result.outcome == CheckOutcome::failed) ++tally.failed;
    if (result.outcome == CheckOutcome::skipped) ++tally.skipped;
    if (!options.json) {
        fmt::print("{:<8} {}/{}/{}  {}\n", outcome_name(result.outcome), op.name, variant.name,
                   shape,
                   result.message.empty()
                       ? fmt::format("worst error {:.3f} of its bound", result.worst_error)
                       : result.message);
    }
    Json json = {{"op", op.name},
                 {"variant", variant.name},
                 {"shape", shape},
                 {"outcome", outcome_name(result.outcome)},
                 {"message", result.message}};
    const bool finite = result.worst_error < 1e300;
    json["worst_error"] = finite ? Json(result.worst_error) : Json(nullptr);
    return json;
}

}  // namespace

int run_list(const Options& options) {
    Json ops = Json::array();
    for (const OpInfo* op : selected_ops(options)) {
        Json variants = Json::array();
        if (!options.json) fmt::print("{}\n", op->name);
        for (const VariantBase* variant : selected_variants(*op, options.variant)) {
            const std::string missing = lacking(*variant);
            variants.push_back({{"name", variant->name},
                                {"needs", cpu::names(variant->needs)},
                                {"compute_capability", variant->compute / 10.0},
                                {"missing", missing},
                                {"input", input_name(variant->input)},
                                {"layout", variant->layout},
                                {"granule", variant->granule == kWhole ? 0 : variant->granule}});
            if (options.json) continue;
            fmt::print("  {:<28} {:<4} {:<8} {}\n", variant->name, input_name(variant->input),
                       variant->layout, missing);
        }
        ops.push_back(
            {{"op", op->name}, {"variants", variants}, {"model_shapes", op->model_shapes()}});
    }
    if (options.json) {
        const Json document = {
            {"cpu", cpu::model_name()}, {"features", cpu::names(cpu::available())}, {"ops", ops}};
        fmt::print("{}\n", document.dump(1));
    }
    return kExitOk;
}

int run_check(const Options& options) {
    Tally tally;
    Json results = Json::array();
    for (const OpInfo* op : selected_ops(options)) {
        for (const std::string& shape : shapes_to_check(options, *op)) {
            ShapeCheck check(*op, shape, options.seed);
            for (const VariantBase* variant : selected_variants(*op, options.variant)) {
                if (options.shape.empty() && is_outside(*op, *variant, shape)) continue;
                results.push_back(check_one(options, *op, *variant, shape, check, tally));
            }
        }
    }
    if (options.json) {
        const Json document = {{"seed", options.seed},
                               {"passed", tally.passed},
                               {"failed", tally.failed},
                               {"skipped", tally.skipped},
                               {"results", results}};
        fmt::print("{}\n", document.dump(1));
    } else {
        fmt::print("{} passed, {} failed, {} skipped; seed {}\n", tally.passed, tally.failed,
                   tally.skipped, options.seed);
    }
    return tally.failed == 0 ? kExitOk : kExitInternal;
}

int run_tool(const std::vector<std::string>& arguments) {
    try {
        const Options options = parse_options(arguments);
        if (options.help) {
            fmt::print("{}", usage());
            return kExitOk;
        }
        if (options.verb == "list") return run_list(options);
        if (options.verb == "check") return run_check(options);
        if (options.verb == "bench") return run_bench(options);
        if (options.verb == "tune") return run_tune(options);
        if (options.verb == "ladder") return run_ladder(options);
        if (options.verb == "disasm") return run_disasm(options);
        if (options.verb == "read") return run_read(options);
        if (options.verb == "bound") return run_bound(options);
        return run_duet(options);
    } catch (const Error& error) {
        fmt::print(stderr, "steady-kernels: {}\n", error.what());
        return error.exit_code;
    } catch (const std::exception& error) {
        fmt::print(stderr, "steady-kernels: {}\n", error.what());
        return kExitInternal;
    }
}

}  // namespace steady::tool
