// Resolution: flag, else the first champion that can run here, else the reference.
#include "engine/exec/kernel_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "engine/exec/champions.h"
#include "engine/exec/tuned_defaults.h"
#include "kernels/base/error.h"
#include "kernels/registry/cpu.h"
#include "kernels/runtime/gpu.h"

namespace steady {
namespace {

template <class Op>
constexpr std::string_view op_name(const Choice<Op>&) {
    return Op::name;
}

std::string all_op_names() {
    std::string text;
    EngineOps::Tuple<Choice> ops;
    for_each_op(ops, [&](auto& choice) {
        text += (text.empty() ? "" : ", ") + std::string(op_name(choice));
    });
    return text;
}

template <class Alternative>
std::string names_of(std::span<const Alternative> alternatives) {
    std::string text;
    for (const Alternative& each : alternatives) {
        text += (text.empty() ? "" : ", ") + std::string(each.name);
    }
    return text;
}

// Why the variant cannot run all of the model's shapes here; empty when it can.
template <class Op>
std::string why_not_all(const VariantInfo<Op>& variant, const Uses<Op>& uses) {
    if (const std::string lacks = lacking(variant); !lacks.empty()) {
        return unusable_variant(variant, lacks);
    }
    for (const typename Op::Shape& shape : uses.shapes) {
        if (std::string why = why_not(variant, shape); !why.empty()) return why;
    }
    return "";
}

// The champions of a matmul follow the matvec's choice: weights lie in one layout only.
template <class Matmul>
struct MatvecOf {};
template <>
struct MatvecOf<Q4_0Matmul> : std::type_identity<Q4_0Matvec> {};
template <>
struct MatvecOf<Q5_KMatmul> : std::type_identity<Q5_KMatvec> {};
template <>
struct MatvecOf<Q6_KMatmul> : std::type_identity<Q6_KMatvec> {};
template <>
struct MatvecOf<Q8_0Matmul> : std::type_identity<Q8_0Matvec> {};
template <class Op>
constexpr bool kFollowsMatvec = requires {
    typename MatvecOf<Op>::type;
};

template <class Op>
bool fits(const VariantInfo<Op>& variant, const KernelPlan& plan) {
    if constexpr (kFollowsMatvec<Op>) {
        return same_form(plan.variant<typename MatvecOf<Op>::type>(), variant);
    }
    // The joined ops share their matrices' layout, as the products have it; the greedy token has
    // none.
    if constexpr (kJoined<Op> && !std::is_same_v<Op, Products> &&
                  !std::is_same_v<Op, GreedyToken>) {
        return plan.variant<Products>().layout == variant.layout;
    }
    return true;
}

Reason reason_for(const Champion& champion, std::string_view here) {
    const bool of_others = !champion.journal.empty() && !decided_on_class(champion, here);
    return of_others ? Reason::nearest : Reason::champion;
}

bool decided_on_any(const Champion& /*champion*/, std::string_view /*here*/) { return true; }

// Whether a default may be this variant: it runs here, on this device, with what others chose, and
// its activations are the ones asked for.
template <class Op>
bool may_default(const VariantInfo<Op>* variant, const PlanRequest& request, const Uses<Op>& uses,
                 const KernelPlan& plan, bool wanted_form) {
    if (variant == nullptr || !why_not_all(*variant, uses).empty()) return false;
    if (kJoined<Op> && variant->on_gpu() != request.on_gpu) return false;
    if (wanted_form && request.activations && variant->input != *request.activations) return false;
    return fits(*variant, plan);
}

// Whose verdicts count first: this class of CPU's, or this GPU's.
std::string class_here(bool on_gpu) { return on_gpu ? gpu::info().name : cpu::class_name(); }

// The machine's own choice, else the first champion that this class decided, else the first that
// another family of the same vendor and features decided, else the first of all. Where activations
// of one form are asked for, ops that have none of it take the other.
template <class Op>
bool choose_default(Choice<Op>& choice, const PlanRequest& request, const Uses<Op>& uses,
                    const KernelPlan& plan) {
    const std::string here = class_here(kJoined<Op> && request.on_gpu);
    const auto try_one = [&](std::string_view name, Reason reason, bool wanted_form) {
        const FoundVariant<Op> found = find_variant<Op>(name);
        if (!may_default<Op>(found.variant, request, uses, plan, wanted_form)) return false;
        choice = {found.variant, kFollowsMatvec<Op> ? Reason::follows : reason};
        return true;
    };
    const std::string tuned = tuned_choice(std::string(Op::name));
    for (const bool wanted_form : {true, false}) {
        if (!tuned.empty() && try_one(tuned, Reason::tuned, wanted_form)) return true;
        for (const auto decided : {decided_on_class, decided_on_kin, decided_on_any}) {
            for (const Champion& champion : champions()) {
                if (champion.op != Op::name || !decided(champion, here)) continue;
                if (try_one(champion.variant, reason_for(champion, here), wanted_form)) return true;
            }
        }
        if (!request.activations) break;
    }
    return false;
}

template <class Op>
void choose(Choice<Op>& choice, const PlanRequest& request, const Uses<Op>& uses,
            const KernelPlan& plan) {
    const auto named = request.kernels.find(Op::name);
    const bool all = request.kernels.contains("*");
    if (named != request.kernels.end() || all) {
        const std::string name = named != request.kernels.end() ? named->second : "reference";
        const FoundVariant<Op> found = find_variant<Op>(name);
        if (found.variant == nullptr) throw Error{"kernels: " + found.error};
        if (const std::string why = why_not_all(*found.variant, uses); !why.empty()) {
            throw Error{"kernels: " + why};
        }
        if (kJoined<Op> && found.variant->on_gpu() != request.on_gpu) {
            throw Error{fmt::format("kernels: {}={} runs on the {}, and this arm's device is {}",
                                    Op::name, found.variant->name, request.on_gpu ? "CPU" : "GPU",
                                    request.on_gpu ? "cuda" : "cpu")};
        }
        if (!fits(*found.variant, plan) && !all) {
            throw Error{fmt::format(
                "kernels: {}={} reads layout {} with {} activations, and {} holds another; "
                "name one of it with the same",
                Op::name, found.variant->name, found.variant->layout,
                input_name(found.variant->input),
                kJoined<Op> ? "products" : "the matvec of this type")};
        }
        choice = {found.variant, Reason::flag};
        return;
    }
    if (choose_default(choice, request, uses, plan)) return;
    const bool called = !kBatched<Op> && (!std::is_same_v<Op, BlockDecode> || plan.block->whole);
    if (kJoined<Op> && request.on_gpu && called) {
        throw Error{fmt::format(
            "kernels: no GPU variant of {} takes this model's shapes in layout {}; name those that "
            "take every shape: --kernels products=cuda_floats (the others follow)",
            Op::name, std::is_same_v<Op, Products> ? "planes8" : plan.variant<Products>().layout)};
    }
    choice = {find_variant<Op>("reference").variant,
              kFollowsMatvec<Op> ? Reason::follows : Reason::reference};
    if (choice.variant == nullptr) {
        throw Error{fmt::format("op {}: no reference is linked into this program", Op::name),
                    kExitInternal};
    }
}

// What decides which alternatives of a step may be chosen.
struct Admission {
    const ModelTraits& traits;
    Type cache = Type::f32;
    bool floats = false;  // references are asked for, or a variant of op mla_attention
    bool on_gpu = false;
    bool joined = false;      // step block
    bool whole = false;       // step block, in one op
    bool whole_fits = false;  // a variant for this device makes a block in one op
    // Formats about as fine as half floats or finer, whose op has a variant that uses this CPU as
    // floats' does.
    std::vector<const CacheFormat*> as_good_as_floats{};
};

std::string why_not_step(const BlockAlternative& block, const Admission& here) {
    return here.on_gpu && !block.joined ? "its ops have no GPU variants (engine flag device)" : "";
}

std::string why_not_step(const MoeAlternative& moe, const Admission& here) {
    const bool missing =
        moe.needs_q4_0_experts && here.traits.has_experts && !here.traits.experts_are_q4_0;
    return missing ? "it calls op q4_0_experts, and this model's experts are not all q4_0" : "";
}

std::string why_not_step(const MlaAlternative& mla, const Admission& here) {
    if (here.joined && mla.cache != CacheForm::rows) {
        return "step block=joined keeps rows of values in the cache";
    }
    if (here.whole && mla.folded) return "step block=whole folds nothing; block=joined does";
    if (here.joined && mla.folded && !here.traits.query_ranked) {
        return "step block=joined multiplies attn_k_b into attn_q_b, and this model has attn_q";
    }
    if (mla.format != nullptr && here.cache != Type::f32) {
        return fmt::format("it keeps integers, which does not go with engine flag cache={}",
                           type_name(here.cache));
    }
    return mla.folded && !here.traits.keys_fold
               ? "it multiplies attn_k_b into the query's matrix, and this model has no attn_k_b, "
                 "or rows that are no multiple of 32"
               : "";
}

std::string why_not_step(const NormAlternative& /*norm*/, const Admission& /*here*/) { return ""; }

// Whether an alternative may be the default. One that rounds the cache to integers may not with
// reference kernels, with unquantised weights, where a variant of attention over floats was asked
// for, or where that has a variant for more of this CPU, which no experiment has set against it.
template <class Alternative>
bool may_be_default(const Alternative& /*alternative*/, const Admission& /*here*/) {
    return true;
}
bool may_be_default(const BlockAlternative& block, const Admission& here) {
    return !block.whole || here.whole_fits;
}
bool may_be_default(const MlaAlternative& mla, const Admission& here) {
    const bool rounds_anyway = here.traits.quantised && !here.floats;
    const auto& good = here.as_good_as_floats;
    return mla.format == nullptr ||
           (rounds_anyway && std::find(good.begin(), good.end(), mla.format) != good.end());
}

constexpr std::array<std::string_view, 4> kSteps = {"block", "mla", "moe", "norm"};
bool is_step(std::string_view name) {
    return std::find(kSteps.begin(), kSteps.end(), name) != kSteps.end();
}

// Whether the one variant is no reference and needs all that the other needs of a CPU.
template <class One, class Other>
bool uses_as_much(const Choice<One>& one, const Choice<Other>& other) {
    if (one.variant == nullptr || other.variant == nullptr) return false;
    if (one.reason == Reason::reference) return false;
    return (one.variant->needs | other.variant->needs) == one.variant->needs;
}

template <class Alternative>
void choose_step(std::string_view step, std::span<const Alternative> alternatives,
                 const PlanRequest& request, const Admission& here, const Alternative*& chosen,
                 Reason& reason) {
    const auto find = [&](std::string_view name) -> const Alternative* {
        for (const Alternative& each : alternatives) {
            if (each.name == name) return &each;
        }
        return nullptr;
    };
    if (const auto named = request.steps.find(std::string(step)); named != request.steps.end()) {
        chosen = find(named->second);
        reason = Reason::flag;
        const std::string why =
            chosen == nullptr ? "no such alternative" : why_not_step(*chosen, here);
        if (why.empty()) return;
        throw Error{fmt::format("steps: {}={}: {}. Choices: {}", step, named->second, why,
                                names_of(alternatives))};
    }
    const std::string cpu_class = cpu::class_name();
    const auto try_one = [&](std::string_view name, Reason why) {
        chosen = find(name);
        reason = why;
        return chosen != nullptr && may_be_default(*chosen, here) &&
               why_not_step(*chosen, here).empty();
    };
    if (try_one(tuned_choice(std::string(step)), Reason::tuned)) return;
    for (const bool of_this_class : {true, false}) {
        for (const Champion& champion : champions()) {
            if (champion.op != step) continue;
            if (of_this_class && !decided_on_class(champion, cpu_class)) continue;
            if (try_one(champion.variant, reason_for(champion, cpu_class))) return;
        }
    }
    throw Error{fmt::format("step {} has no default that this model admits", step), kExitInternal};
}

// Whether a block may be one op unless told: on a GPU that has a variant for the model's shapes,
// and where nobody chose for the ops that it would take the place of.
bool whole_blocks_fit(const PlanRequest& request, const Uses<BlockDecode>& uses) {
    if (!request.on_gpu || request.kernels.contains("*")) return false;
    for (const std::string_view op : {Products::name, MlaDecode::name, MoeDecode::name}) {
        if (request.kernels.contains(std::string(op))) return false;
    }
    for (const VariantBase* base : variants_of(BlockDecode::name)) {
        const auto& variant = *static_cast<const VariantInfo<BlockDecode>*>(base);
        if (variant.on_gpu() && why_not_all(variant, uses).empty()) return true;
    }
    return false;
}

void check_names(const PlanRequest& request) {
    const EngineOps::Tuple<Choice> ops;
    for (const auto& entry : request.kernels) {
        const auto& op = entry.first;
        const auto& variant = entry.second;
        if (op == "*") {
            if (variant == "reference") continue;
            throw Error{"kernels: \"*\" may only be \"reference\", not \"" + variant + "\""};
        }
        bool known = false;
        for_each_op(ops, [&](const auto& choice) { known = known || op == op_name(choice); });
        if (!known) {
            throw Error{
                fmt::format("kernels: the engine has no op '{}'. Ops: {}", op, all_op_names())};
        }
    }
    for (const auto& [step, name] : request.steps) {
        if (is_step(step)) continue;
        throw Error{fmt::format("steps: no step '{}' (for '{}'). Steps: {}", step, name,
                                fmt::join(kSteps, ", "))};
    }
}

}  // namespace

std::string_view reason_name(Reason reason) {
    switch (reason) {
        case Reason::flag:
            return "flag";
        case Reason::tuned:
            return "tuned";
        case Reason::champion:
            return "champion";
        case Reason::nearest:
            return "nearest";
        case Reason::follows:
            return "follows";
        case Reason::reference:
            break;
    }
    return "reference";
}

PlanRequest parse_plan(std::string_view text) {
    if (text == "reference") return {{{"*", "reference"}}, {}};
    PlanRequest request;
    for (std::string_view rest = text; !rest.empty();) {
        const std::string_view part = rest.substr(0, rest.find(','));
        rest.remove_prefix(std::min(rest.size(), part.size() + 1));
        const std::size_t equals = part.find('=');
        if (equals == std::string_view::npos || equals == 0 || equals + 1 == part.size()) {
            throw Error{fmt::format(
                "--kernels: '{}' is not op=variant; write \"reference\" or op=variant,…", part)};
        }
        const std::string op(part.substr(0, equals));
        auto& into = is_step(op) ? request.steps : request.kernels;
        if (!into.emplace(op, std::string(part.substr(equals + 1))).second) {
            throw Error{fmt::format("--kernels: op '{}' is named twice", op)};
        }
    }
    return request;
}

KernelPlan resolve_plan(const PlanRequest& request, const UsedShapes& shapes,
                        const ModelTraits& traits, Type cache) {
    check_names(request);
    KernelPlan plan;
    auto& over_floats = std::get<Choice<MlaAttention>>(plan.kernels);
    choose(over_floats, {}, std::get<Uses<MlaAttention>>(shapes), plan);  // what would be taken
    const bool floats =
        request.kernels.contains("*") || request.kernels.contains(MlaAttention::name);
    Admission here{.traits = traits, .cache = cache, .floats = floats, .on_gpu = request.on_gpu};
    IntegerCacheOps::for_each([&]<class Op>() {
        constexpr int kHalfFloat = 2048;  // steps of its significand
        auto& choice = std::get<Choice<Op>>(plan.kernels);
        choose(choice, request, std::get<Uses<Op>>(shapes), plan);
        const CacheFormat& format = kCacheFormat<typename Op::Codec>;
        if (format.largest >= kHalfFloat && uses_as_much(choice, over_floats)) {
            here.as_good_as_floats.push_back(&format);
        }
    });
    here.whole_fits = whole_blocks_fit(request, std::get<Uses<BlockDecode>>(shapes));
    choose_step("block", block_alternatives(), request, here, plan.block, plan.block_reason);
    here.joined = plan.block->joined;
    here.whole = plan.block->whole;
    choose_step("moe", moe_alternatives(), request, here, plan.moe, plan.moe_reason);
    choose_step("mla", mla_alternatives(), request, here, plan.mla, plan.mla_reason);
    choose_step("norm", norm_alternatives(), request, here, plan.norm, plan.norm_reason);
    UsedShapes used = shapes;
    if (!plan.block->whole) std::get<Uses<BlockDecode>>(used).shapes.clear();
    for (MlaAttentionShape& shape : std::get<Uses<MlaAttention>>(used).shapes) {
        if (plan.mla->cache ==
            CacheForm::full) {  // attention of one head over its own keys and values
            shape = {1, traits.n_value, traits.head_size, shape.n_positions};
        }
        shape.cache = cache;
    }
    for (MlaDecodeShape& shape : std::get<Uses<MlaDecode>>(used).shapes) {
        shape.folded = plan.mla->folded ? 1 : 0;
    }
    for_each_op(plan.kernels, [&](auto& choice) {
        using Op = typename std::decay_t<decltype(choice)>::OpType;
        choose(choice, request, std::get<Uses<Op>>(used), plan);
    });
    return plan;
}

std::string plan_text(const KernelPlan& plan) {
    std::string text = fmt::format("CPU class {}\n", cpu::class_name());
    if (const TunedDefaults& tuned = tuned_defaults(); !tuned.path.empty()) {
        text += fmt::format("defaults of {}{}\n", tuned.path,
                            tuned.cpu_class == cpu::class_name()
                                ? ""
                                : fmt::format(": not used, they are for {}", tuned.cpu_class));
    }
    for_each_op(plan.kernels, [&](const auto& choice) {
        text += fmt::format("{:<16} {:<28} {}\n", op_name(choice), choice.variant->name,
                            reason_name(choice.reason));
    });
    const auto step = [&](std::string_view name, std::string_view chosen, Reason reason) {
        text += fmt::format("{:<16} {:<28} {}\n", name, chosen, reason_name(reason));
    };
    step("step block", plan.block->name, plan.block_reason);
    step("step moe", plan.moe->name, plan.moe_reason);
    step("step mla", plan.mla->name, plan.mla_reason);
    step("step norm", plan.norm->name, plan.norm_reason);
    return text;
}

}  // namespace steady
