// The step functions, for the table in steps.cpp and for a batch's experts, and what they share.
#pragma once

#include "engine/model/arm.h"

namespace steady {

// Bytes of n floats.
inline std::size_t floats(std::int64_t n) { return static_cast<std::size_t>(n) * sizeof(float); }

// Op: the attention over the arm's cache, also below. Instances stand beside the definitions.
template <class Op>
void mla_absorbed(Arm& arm, const Block& b, std::int64_t index, std::int64_t first);
void mla_folded(Arm& arm, const Block& b, std::int64_t index, std::int64_t first);
void mla_materialised(Arm& arm, const Block& b, std::int64_t index, std::int64_t first);
template <class Op>
void mla_spans(Arm& arm, const Block& b, std::int64_t index, std::int64_t first);
void mla_heads(Arm& arm, const Block& b, std::int64_t index, std::int64_t first);
void mla_heads_q8(Arm& arm, const Block& b, std::int64_t index, std::int64_t first);
void moe_fused(Arm& arm, const Block& b);
void moe_joined(Arm& arm, const Block& b);
void moe_indexed(Arm& arm, const Block& b);
void moe_indexed_gate_up(Arm& arm, const Block& b);
void moe_unfused(Arm& arm, const Block& b);
void moe_grouped(Arm& arm, const Block& b);  // of a batch

// state.kv → the cache's rows first …, values or groups of integers
void cache_latent(Arm& arm, std::int64_t index, std::int64_t first);
// state.q_absorbed[h] = k_b[h] · q_nope[h]
void absorb_query(Arm& arm, const Block& b, std::int64_t index);
// state.q_latent[h] = [state.q_absorbed[h] | q_pe[h]], where q_pe[h] lies in state.q at h * stride
// + offset.
void join_query(Arm& arm, std::int64_t index, std::int64_t stride, std::int64_t offset);
// An attention op's arguments for token t of the pass: state.q_latent and the cache →
// state.attended.
template <class Op>
typename Op::Args attention_args(Arm& arm, std::int64_t index, std::int64_t first, std::int64_t t) {
    State& s = arm.state;
    const Config& c = arm.config;
    typename Op::Args args;
    args.shape = {c.n_heads, c.kv_rank, c.n_rot, first + t + 1};
    if constexpr (std::is_same_v<Op, MlaAttention>) args.shape.cache = arm.cache.type();
    args.q = s.q_latent.data() + t * c.n_heads * c.latent_size();
    args.cache = arm.cache.groups(index);
    args.scale = c.attention_scale;
    args.scratch = s.scores.data();
    args.out = s.attended.f32.data() + t * c.n_heads * c.kv_rank;
    return args;
}
// The attention of every token of the pass. One token's is all threads' work: alone(args). Of a
// batch each thread takes whole tokens, every so many-th since later ones cost more:
// whole(args, lane) with a lane's own scratch.
template <class Op, class Alone, class Whole>
void attend(Arm& arm, std::int64_t index, std::int64_t first, Alone alone, Whole whole) {
    State& s = arm.state;
    if (s.n == 1) return alone(attention_args<Op>(arm, index, first, 0));
    const std::int64_t begin = arm.timed ? now_ns() : 0;
    spread(arm, s.lanes, [&](Range lanes) {
        for (std::int64_t lane = lanes.begin; lane < lanes.end; ++lane) {
            for (std::int64_t t = lane; t < s.n; t += s.lanes) {
                typename Op::Args args = attention_args<Op>(arm, index, first, t);
                args.scratch += lane * s.scores_size;
                whole(args, lane);
            }
        }
    });
    const std::int64_t ns = arm.timed ? (now_ns() - begin) / s.n : 0;
    for (std::int64_t t = 0; t < s.n; ++t) {
        count<Op>(arm, attention_args<Op>(arm, index, first, t), ns);
    }
}
// The same where a token's attention is one launch of its op.
template <class Op>
void attend(Arm& arm, std::int64_t index, std::int64_t first) {
    attend<Op>(
        arm, index, first, [&](const typename Op::Args& args) { launch<Op>(arm, args); },
        [&](const typename Op::Args& args, std::int64_t /*lane*/) {
            arm.plan.variant<Op>().run(args, {0, args.shape.n_heads, 0});
        });
}
// state.attended → state.attn_out
void project_attended(Arm& arm, const Block& b, std::int64_t index);

// Router and the shared expert's gate and up in one launch; then state.expert_ids and
// expert_weights are chosen, state.hidden holds the shared expert's activations, and state.h is
// there in the form that the routed experts read.
void route_and_open_shared(Arm& arm, const Block& b, Input experts);
// Of op q4_0_experts, for this token's experts: state.h → state.routed.
Q4_0Experts::Args experts_args(Arm& arm, const Block& b);
// state.ffn_out = routed + shared
void sum_experts(Arm& arm, const Block& b);

}  // namespace steady
