// The step functions, for the table in steps.cpp and for a batch's experts, and what they share.
#pragma once

#include "engine/run/arm.h"

namespace steady {

void mla_absorbed(Arm& arm, const Block& b, std::int64_t index, std::int64_t first);
void mla_materialised(Arm& arm, const Block& b, std::int64_t index, std::int64_t first);
void mla_heads(Arm& arm, const Block& b, std::int64_t index, std::int64_t first);
void mla_heads_q8(Arm& arm, const Block& b, std::int64_t index, std::int64_t first);
void moe_fused(Arm& arm, const Block& b);
void moe_joined(Arm& arm, const Block& b);
void moe_indexed(Arm& arm, const Block& b);
void moe_indexed_gate_up(Arm& arm, const Block& b);
void moe_unfused(Arm& arm, const Block& b);
void moe_grouped(Arm& arm, const Block& b);  // of a batch

// Router and the shared expert's gate and up in one launch; then state.expert_ids and
// expert_weights are chosen, state.hidden holds the shared expert's activations, and state.h is
// there in the form that the routed experts read.
void route_and_open_shared(Arm& arm, const Block& b, Input experts);
// Of op q4_0_experts, for this token's experts: state.h → state.routed.
Q4_0Experts::Args experts_args(Arm& arm, const Block& b);
// state.ffn_out = routed + shared
void sum_experts(Arm& arm, const Block& b);

}  // namespace steady
