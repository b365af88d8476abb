// The routed experts one matrix at a time, each a plain matrix-vector product: slower by launches
// and quantisations, but right for every weight type, and the baseline of the fused step.
#include <algorithm>

#include "engine/model/forward.h"
#include "engine/model/forward_parts.h"

namespace steady {

void moe_unfused(Arm& arm, const Block& b) {
    State& s = arm.state;
    const Config& c = arm.config;
    route_and_open_shared(arm, b, input_of(arm, b.ffn_gate_exps));
    if (input_of(arm, b.ffn_up_exps) != input_of(arm, b.ffn_gate_exps)) {
        quantize_for(arm, s.h, c.dim, {&b.ffn_up_exps});
    }
    std::fill(s.routed.begin(), s.routed.end(), 0.0F);
    for (std::int64_t e = 0; e < c.n_experts_used; ++e) {
        const std::int64_t id = s.expert_ids[static_cast<std::size_t>(e)];
        const std::int64_t at = e * c.expert_ff;
        float* gate = s.expert_gate.data() + at;
        float* up = s.expert_up.data() + at;
        multiply(arm, std::array{Product{&b.ffn_gate_exps, s.h.view(), gate, id},
                                 Product{&b.ffn_up_exps, s.h.view(), up, id}});
        // Each expert's activations start the buffer: blocks of 32 never straddle two experts.
        call<Swiglu>(arm, {{c.expert_ff}, gate, up, s.expert_hidden.f32.data()});
        quantize_for(arm, s.expert_hidden, c.expert_ff, {&b.ffn_down_exps});
        float* out = s.expert_out.data() + e * c.dim;
        multiply(arm, {&b.ffn_down_exps, s.expert_hidden.view(), out, id});
        call<Add>(arm,
                  {{c.dim}, out, s.expert_weights[static_cast<std::size_t>(e)], s.routed.data()});
    }
    if (b.ffn_down.present()) multiply(arm, {&b.ffn_down, s.hidden.view(), s.ffn_out.data()});
    sum_experts(arm, b);
}

}  // namespace steady
