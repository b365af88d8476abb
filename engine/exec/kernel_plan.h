// What runs: for each op one variant, for each step one alternative, with the reason for the
// choice. Resolved once, when a model is opened, and frozen; an unknown name, a missing CPU feature
// or an unsupported shape is an error that lists the choices. Nothing is timed and nothing falls
// back silently.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "engine/exec/alternatives.h"
#include "kernels/add/op.h"
#include "kernels/block_decode/op.h"
#include "kernels/dequantize_row/op.h"
#include "kernels/f32_matvec/op.h"
#include "kernels/greedy_token/op.h"
#include "kernels/mla_attention/op.h"
#include "kernels/mla_attention_i16/op.h"
#include "kernels/mla_attention_i8x2/op.h"
#include "kernels/mla_attention_q8/op.h"
#include "kernels/mla_batch/op.h"
#include "kernels/mla_decode/op.h"
#include "kernels/moe_batch/op.h"
#include "kernels/moe_decode/op.h"
#include "kernels/moe_router/op.h"
#include "kernels/other_matvec/op.h"
#include "kernels/products/op.h"
#include "kernels/products_batch/op.h"
#include "kernels/q4_0_experts/op.h"
#include "kernels/q4_0_matmul/op.h"
#include "kernels/q4_0_matvec/op.h"
#include "kernels/q5_k_matmul/op.h"
#include "kernels/q5_k_matvec/op.h"
#include "kernels/q6_k_matmul/op.h"
#include "kernels/q6_k_matvec/op.h"
#include "kernels/q8_0_matmul/op.h"
#include "kernels/q8_0_matvec/op.h"
#include "kernels/quantize_q16/op.h"
#include "kernels/quantize_q8/op.h"
#include "kernels/rms_norm/op.h"
#include "kernels/rms_norm_q8/op.h"
#include "kernels/rope/op.h"
#include "kernels/swiglu/op.h"
#include "kernels/token_row/op.h"

namespace steady {

template <class... Ops>
struct OpList {
    static constexpr int size = sizeof...(Ops);
    template <template <class> class Each>
    using Tuple = std::tuple<Each<Ops>...>;
    // Calls visit.template operator()<Op>() for each.
    template <class Visit>
    static void for_each(Visit visit) {
        (visit.template operator()<Ops>(), ...);
    }
};
template <class... Lists>
struct JoinedOps;
template <class... Ops>
struct JoinedOps<OpList<Ops...>> {
    using List = OpList<Ops...>;
};
template <class... One, class... Two, class... Rest>
struct JoinedOps<OpList<One...>, OpList<Two...>, Rest...>
    : JoinedOps<OpList<One..., Two...>, Rest...> {};
template <class... Lists>
using JoinOps = typename JoinedOps<Lists...>::List;

// Attention over a cache of integers: adding a format of the cache adds its op here, and an
// alternative of step mla to engine/model/steps/steps.cpp.
using IntegerCacheOps = OpList<MlaAttentionQ8, MlaAttentionI16, MlaAttentionI8x2>;

// Every op that the forward calls.
using EngineOps =
    JoinOps<OpList<Q4_0Matvec, Q5_KMatvec, Q6_KMatvec, Q8_0Matvec, F32Matvec, OtherMatvec,
                   Q4_0Matmul, Q5_KMatmul, Q6_KMatmul, Q8_0Matmul, Q4_0Experts, QuantizeQ8,
                   QuantizeQ16, DequantizeRow, RmsNorm, RmsNormQ8, Rope, Swiglu, Add, MlaAttention>,
            IntegerCacheOps,
            OpList<MoeRouter, Products, TokenRow, MlaDecode, MoeDecode, BlockDecode, ProductsBatch,
                   MlaBatch, MoeBatch, GreedyToken>>;

// Whether the op takes a batch of a prompt where a block's ops are joined. A device without such
// variants runs prompts token by token.
template <class Op>
constexpr bool kBatched = std::is_same_v<Op, ProductsBatch> || std::is_same_v<Op, MlaBatch> ||
                          std::is_same_v<Op, MoeBatch>;

// Whether the op is called where a block's ops are joined, and only there.
template <class Op>
constexpr bool kJoined =
    std::is_same_v<Op, Products> || std::is_same_v<Op, TokenRow> || std::is_same_v<Op, MlaDecode> ||
    std::is_same_v<Op, MoeDecode> || std::is_same_v<Op, BlockDecode> ||
    std::is_same_v<Op, GreedyToken> || kBatched<Op>;

// Whether what an op counts as weights is the KV cache.
template <class Op>
constexpr bool kReadsCache = kIsAttention<Op>;

// Tokens of a prompt that one pass takes unless told otherwise; a GPU reads weights so fast that it
// wants more to multiply them with (journal/2026-11-25-gpu-prompt-582c4611.md).
constexpr std::int64_t kDefaultBatch = 64;
constexpr std::int64_t kDefaultBatchOnGpu = 512;

// tuned: of the machine's own file (engine/exec/tuned_defaults.h). follows: chosen to fit another
// op's choice, so it differs when that one does. nearest: a default decided on another class of CPU
// (cpu::class_name()), since this class has no verdict of its own.
enum class Reason { flag, tuned, champion, nearest, reference, follows };
std::string_view reason_name(Reason reason);

template <class Op>
struct Choice {
    using OpType = Op;
    const VariantInfo<Op>* variant = nullptr;
    Reason reason = Reason::reference;
};

// The shapes that one model calls an op with, most weight bytes per token first.
template <class Op>
struct Uses {
    using OpType = Op;
    std::vector<typename Op::Shape> shapes;
};
using UsedShapes = EngineOps::Tuple<Uses>;

// What a caller asks for; empty maps mean the champions.
struct PlanRequest {
    std::map<std::string, std::string> kernels;  // op → variant; "*" → "reference" means all ops
    std::map<std::string, std::string> steps;    // step → alternative
    bool on_gpu = false;
    // Defaults take this form of activations where an op has one that can run: q8 or q16.
    std::optional<Input> activations{};
};

struct KernelPlan {
    EngineOps::Tuple<Choice> kernels;
    const BlockAlternative* block = nullptr;
    const MoeAlternative* moe = nullptr;
    const MlaAlternative* mla = nullptr;
    const NormAlternative* norm = nullptr;
    Reason block_reason = Reason::reference, moe_reason = Reason::reference,
           mla_reason = Reason::reference, norm_reason = Reason::reference;

    template <class Op>
    const VariantInfo<Op>& variant() const {
        return *std::get<Choice<Op>>(kernels).variant;
    }
};

// Whether two variants read weights and activations alike: a type's matmul and its matvec; if not,
// prompts go through the matvec.
inline bool same_form(const VariantBase& one, const VariantBase& other) {
    return one.layout == other.layout && one.input == other.input;
}

// "reference", or "op=variant,op=variant,…" over the champions. Error for anything else.
PlanRequest parse_plan(std::string_view text);

// Flag, else champion, else reference. Error: unknown op, variant, step or alternative; a variant
// that this CPU or one of the model's shapes rules out; steps that the model does not admit. The
// variant of attention is one for a KV cache of type `cache`, and so is the step: integers take the
// place of f32 only.
KernelPlan resolve_plan(const PlanRequest& request, const UsedShapes& shapes,
                        const ModelTraits& traits, Type cache = Type::f32);

// One line per op and step: name, choice, reason.
std::string plan_text(const KernelPlan& plan);

// Calls visit(choice) for each op of the list, in its order.
template <class Tuple, class Visit>
void for_each_op(Tuple& tuple, Visit visit) {
    std::apply([&](auto&... each) { (visit(each), ...); }, tuple);
}

}  // namespace steady
