// The routed experts through one op, q4_0_experts: gate, up, SwiGLU, down and the weighted sum of
// all chosen experts in one launch of two phases, with one quantisation in between.
#include "engine/model/forward.h"
#include "engine/model/forward_parts.h"

namespace steady {

Q4_0Experts::Args experts_args(Arm& arm, const Block& b) {
    State& s = arm.state;
    const Config& c = arm.config;
    return {{c.n_experts, c.n_experts_used, c.dim, c.expert_ff},
            b.ffn_gate_exps.data,
            b.ffn_up_exps.data,
            b.ffn_down_exps.data,
            s.expert_ids.data(),
            s.expert_weights.data(),
            s.h.view(),
            s.expert_hidden.f32.data(),
            s.expert_hidden.q8.data(),
            s.expert_hidden.scale.data(),
            s.expert_hidden.sum.data(),
            s.routed.data(),
            s.expert_hidden.low.data()};
}

void moe_fused(Arm& arm, const Block& b) {
    route_and_open_shared(arm, b, arm.plan.variant<Q4_0Experts>().input);
    launch<Q4_0Experts>(arm, experts_args(arm, b));
    if (b.ffn_down.present()) {
        multiply(arm, {&b.ffn_down, arm.state.hidden.view(), arm.state.ffn_out.data()});
    }
    sum_experts(arm, b);
}

}  // namespace steady
