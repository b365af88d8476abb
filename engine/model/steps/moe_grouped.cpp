// The routed experts of a batch, expert by expert: each expert's weights are read once for all the
// tokens that chose it. Per token the sums run in the order of the token-by-token steps, so that
// matmul variants that keep the matvec's bits give the same logits.
#include <algorithm>

#include "engine/model/forward.h"
#include "engine/model/forward_parts.h"

namespace steady {
namespace {

// Slot t * used + e is token t's e-th expert. Lists the slots by expert, tokens in order; between
// the products hidden values lie in the lists' order, so that an expert's lie together.
void group_by_expert(State& s, const Config& c) {
    const std::int64_t n_slots = s.n * c.n_experts_used;
    auto& first = s.routed_x.first;
    first.assign(static_cast<std::size_t>(c.n_experts + 1), 0);
    for (std::int64_t slot = 0; slot < n_slots; ++slot) {
        ++first[static_cast<std::size_t>(s.expert_ids[static_cast<std::size_t>(slot)]) + 1];
    }
    for (std::size_t e = 1; e < first.size(); ++e) first[e] += first[e - 1];
    s.routed_x.x_row.resize(static_cast<std::size_t>(n_slots));
    s.routed_x.y_row.resize(static_cast<std::size_t>(n_slots));
    s.routed_h.y_row.resize(static_cast<std::size_t>(n_slots));
    s.routed_h.first = first;  // its entries serve as cursors, then are put back
    for (std::int64_t slot = 0; slot < n_slots; ++slot) {
        const auto expert = static_cast<std::size_t>(s.expert_ids[static_cast<std::size_t>(slot)]);
        const auto at = static_cast<std::size_t>(s.routed_h.first[expert]++);
        s.routed_x.x_row[at] = static_cast<std::int32_t>(slot / c.n_experts_used);
        s.routed_x.y_row[at] = static_cast<std::int32_t>(at);
        s.routed_h.y_row[at] = static_cast<std::int32_t>(slot);
    }
    s.routed_h.first = first;
    s.routed_h.x_row = s.routed_x.y_row;
}

}  // namespace

void moe_grouped(Arm& arm, const Block& b) {
    State& s = arm.state;
    const Config& c = arm.config;
    route_and_open_shared(arm, b, input_of(arm, b.ffn_gate_exps));
    if (input_of(arm, b.ffn_up_exps) != input_of(arm, b.ffn_gate_exps)) {
        quantize_for(arm, s.h, s.n * c.dim, {&b.ffn_up_exps});
    }
    group_by_expert(s, c);
    multiply_grouped(arm, {&b.ffn_gate_exps, s.h.view(), s.expert_gate.data()}, s.routed_x);
    multiply_grouped(arm, {&b.ffn_up_exps, s.h.view(), s.expert_up.data()}, s.routed_x);
    const std::int64_t width = c.n_experts_used * c.expert_ff;
    each<Swiglu>(arm, [&](std::int64_t t) -> Swiglu::Args {
        return {{width},
                s.expert_gate.data() + t * width,
                s.expert_up.data() + t * width,
                s.expert_hidden.f32.data() + t * width};
    });
    quantize_for(arm, s.expert_hidden, s.n * width, {&b.ffn_down_exps});
    multiply_grouped(arm, {&b.ffn_down_exps, s.expert_hidden.view(), s.expert_out.data()},
                     s.routed_h);
    spread(arm, s.n, [&](Range tokens) {
        std::fill(s.routed.begin() + tokens.begin * c.dim, s.routed.begin() + tokens.end * c.dim,
                  0.0F);
    });
    for (std::int64_t e = 0; e < c.n_experts_used; ++e) {
        each<Add>(arm, [&](std::int64_t t) -> Add::Args {
            const std::int64_t slot = t * c.n_experts_used + e;
            return {{c.dim},
                    s.expert_out.data() + slot * c.dim,
                    s.expert_weights[static_cast<std::size_t>(slot)],
                    s.routed.data() + t * c.dim};
        });
    }
    if (b.ffn_down.present()) multiply(arm, {&b.ffn_down, s.hidden.view(), s.ffn_out.data()});
    sum_experts(arm, b);
}

}  // namespace steady
