// The table of alternatives, and the parts that the experts' steps share.
#include <algorithm>
#include <array>

#include "engine/exec/alternatives.h"
#include "engine/model/forward.h"
#include "engine/model/forward_parts.h"

namespace steady {
namespace {

constexpr MoeAlternative kMoe[] = {{"fused", moe_fused, true},
                                   {"joined", moe_joined, true},
                                   {"indexed", moe_indexed, false},
                                   {"indexed_gate_up", moe_indexed_gate_up, false},
                                   {"unfused", moe_unfused, false}};

// An alternative over the cache of integers that Op reads.
template <class Op>
constexpr MlaAlternative over(std::string_view name, decltype(MlaAlternative::run) run,
                              bool batches) {
    return {name, run, CacheForm::groups, batches, false, &kCacheFormat<typename Op::Codec>};
}
constexpr MlaAlternative kMla[] = {
    {"absorbed", mla_absorbed<MlaAttention>, CacheForm::rows, true},
    over<MlaAttentionI16>("absorbed_i16", mla_absorbed<MlaAttentionI16>, true),
    {"folded", mla_folded, CacheForm::rows, true, true},
    {"spans", mla_spans<MlaAttention>, CacheForm::rows, true},
    over<MlaAttentionI8x2>("spans_i8x2", mla_spans<MlaAttentionI8x2>, true),
    {"heads", mla_heads, CacheForm::rows, false},
    over<MlaAttentionQ8>("heads_q8", mla_heads_q8, false),
    {"materialised", mla_materialised, CacheForm::full, true}};
constexpr BlockAlternative kBlock[] = {{"apart", false}, {"joined", true}, {"whole", true, true}};
constexpr NormAlternative kNorm[] = {{"apart", false}, {"quantising", true}};

}  // namespace

std::span<const BlockAlternative> block_alternatives() { return kBlock; }
std::span<const MoeAlternative> moe_alternatives() { return kMoe; }
std::span<const MlaAlternative> mla_alternatives() { return kMla; }
std::span<const NormAlternative> norm_alternatives() { return kNorm; }

void route_and_open_shared(Arm& arm, const Block& b, Input experts) {
    State& s = arm.state;
    const Config& c = arm.config;
    quantize_for(arm, s.h, s.n * c.dim, {&b.ffn_gate_inp, &b.ffn_gate, &b.ffn_up}, experts);
    const std::array products{Product{&b.ffn_gate_inp, s.h.view(), s.router.data()},
                              Product{&b.ffn_gate, s.h.view(), s.gate.data()},
                              Product{&b.ffn_up, s.h.view(), s.up.data()}};
    const bool shared = b.ffn_gate.present();
    multiply(arm, std::span<const Product>(products).first(shared ? 3 : 1));
    each<MoeRouter>(arm, [&](std::int64_t t) -> MoeRouter::Args {
        return {{c.n_experts, c.n_experts_used},
                s.router.data() + t * c.n_experts,
                b.exp_probs_b,
                c.gating,
                c.expert_weights_norm,
                c.expert_weights_scale,
                s.expert_ids.data() + t * c.n_experts_used,
                s.expert_weights.data() + t * c.n_experts_used};
    });
    if (shared) swiglu_hidden(arm, b);
}

void sum_experts(Arm& arm, const Block& b) {
    State& s = arm.state;
    const std::int64_t n = s.n * arm.config.dim;
    if (!b.ffn_gate.present()) {
        std::copy_n(s.routed.begin(), n, s.ffn_out.begin());
        return;
    }
    spread<Add>(arm, {{n}, s.routed.data(), 1, s.ffn_out.data()});
}

}  // namespace steady
