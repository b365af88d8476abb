// Verb plan: what a model would run here and why, without loading its weights.
#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "engine/exec/tuned_defaults.h"
#include "engine/run/model.h"
#include "engine/verbs/verbs.h"
#include "kernels/base/error.h"
#include "kernels/registry/cpu.h"

namespace steady {
namespace {

using Json = nlohmann::ordered_json;

// Variants of the op that could take the place of the chosen one: all of the model's shapes, and
// this CPU, allow them.
template <class Op>
Json able_variants(const Uses<Op>& uses, bool on_gpu) {
    Json names = Json::array();
    for (const VariantBase* base : variants_of(Op::name)) {
        const auto& variant = static_cast<const VariantInfo<Op>&>(*base);
        bool able = lacking(variant).empty() && variant.on_gpu() == on_gpu;
        for (const auto& shape : uses.shapes) able = able && why_not(variant, shape).empty();
        if (able) names.push_back(std::string(variant.name));
    }
    return names;
}

Json plan_json(const Model& model, const KernelPlan& plan, bool on_gpu) {
    Json kernels = Json::object();
    for_each_op(model.uses.shapes, [&](const auto& uses) {
        using Op = typename std::decay_t<decltype(uses)>::OpType;
        if (uses.shapes.empty()) return;
        const auto& choice = std::get<Choice<Op>>(plan.kernels);
        Json shapes = Json::array();
        for (const auto& shape : uses.shapes) shapes.push_back(to_text(shape));
        kernels[std::string(Op::name)] = {{"variant", choice.variant->name},
                                          {"reason", reason_name(choice.reason)},
                                          {"input", input_name(choice.variant->input)},
                                          {"choices", able_variants(uses, on_gpu)},
                                          {"shapes", shapes}};
    });
    const auto step = [](std::string_view name, Reason reason) {
        return Json{{"alternative", name}, {"reason", reason_name(reason)}};
    };
    return {{"cpu_class", cpu::class_name()},
            {"defaults", tuned_defaults().path},
            {"defaults_class", tuned_defaults().cpu_class},
            {"kernels", kernels},
            {"steps",
             {{"block", step(plan.block->name, plan.block_reason)},
              {"moe", step(plan.moe->name, plan.moe_reason)},
              {"mla", step(plan.mla->name, plan.mla_reason)},
              {"norm", step(plan.norm->name, plan.norm_reason)}}}};
}

}  // namespace

int run_plan(const Arguments& arguments) {
    const Model model(arguments.positionals[0]);
    const ArmOptions arm = arguments.arm();
    if (arm.gpu >= 0) gpu::use(arm.gpu);
    const KernelPlan plan =
        resolve_plan(arm.plan, model.uses.shapes, model.uses.traits, cache_of(arm));
    check_launch(arm, plan);
    if (arguments.json()) {
        fmt::print("{}\n", plan_json(model, plan, arm.gpu >= 0).dump());
    } else {
        fmt::print("{}", plan_text(plan));
    }
    return kExitOk;
}

}  // namespace steady
