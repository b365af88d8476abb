// The routed experts as an indexed product (what frameworks call mul_mat_id): one launch multiplies
// a matrix of every chosen expert. Gate and up are two launches, or one; then SwiGLU and one
// quantisation for all experts, down in one launch, and the weighted sum expert by expert.
#include <algorithm>

#include "engine/model/forward.h"
#include "engine/model/forward_parts.h"

namespace steady {
namespace {

// x from its value n on; n is a multiple of 32 wherever the quantised forms are read.
Activation from(const Activation& x, std::int64_t n) {
    const std::int64_t block = n / kActivationBlock;
    return {x.f32 + n,        x.q8 + n,     x.q8_scale + block,
            x.q8_sum + block, x.q8_low + n, x.q16_sum + block};
}

// Products of one launch: gate and up of this many experts fit.
constexpr std::size_t kGroup = ThreadPool::kMaxJobs / 2;

void gate_and_up(Arm& arm, const Block& b, std::size_t first, std::size_t n, bool together) {
    State& s = arm.state;
    std::array<Product, 2 * kGroup> products;
    for (std::size_t i = 0; i < n; ++i) {
        const std::int64_t at = static_cast<std::int64_t>(first + i) * arm.config.expert_ff;
        const std::int64_t id = s.expert_ids[first + i];
        products[i] = {&b.ffn_gate_exps, s.h.view(), s.expert_gate.data() + at, id};
        products[n + i] = {&b.ffn_up_exps, s.h.view(), s.expert_up.data() + at, id};
    }
    const std::span<const Product> all(products);
    if (together) return multiply(arm, all.first(2 * n));
    multiply(arm, all.first(n));
    multiply(arm, all.subspan(n, n));
}

void down(Arm& arm, const Block& b, std::size_t first, std::size_t n) {
    State& s = arm.state;
    std::array<Product, kGroup> products;
    for (std::size_t i = 0; i < n; ++i) {
        const auto e = static_cast<std::int64_t>(first + i);
        products[i] = {&b.ffn_down_exps, from(s.expert_hidden.view(), e * arm.config.expert_ff),
                       s.expert_out.data() + e * arm.config.dim, s.expert_ids[first + i]};
    }
    multiply(arm, std::span<const Product>(products).first(n));
}

void run(Arm& arm, const Block& b, bool together) {
    State& s = arm.state;
    const Config& c = arm.config;
    route_and_open_shared(arm, b, input_of(arm, b.ffn_gate_exps));
    if (input_of(arm, b.ffn_up_exps) != input_of(arm, b.ffn_gate_exps)) {
        quantize_for(arm, s.h, c.dim, {&b.ffn_up_exps});
    }
    const auto n = static_cast<std::size_t>(c.n_experts_used);
    for (std::size_t e = 0; e < n; e += kGroup) {
        gate_and_up(arm, b, e, std::min(kGroup, n - e), together);
    }
    const std::int64_t n_hidden = c.n_experts_used * c.expert_ff;
    call<Swiglu>(
        arm, {{n_hidden}, s.expert_gate.data(), s.expert_up.data(), s.expert_hidden.f32.data()});
    quantize_for(arm, s.expert_hidden, n_hidden, {&b.ffn_down_exps});
    for (std::size_t e = 0; e < n; e += kGroup) down(arm, b, e, std::min(kGroup, n - e));
    std::fill(s.routed.begin(), s.routed.end(), 0.0F);
    for (std::size_t e = 0; e < n; ++e) {
        const float* out = s.expert_out.data() + static_cast<std::int64_t>(e) * c.dim;
        call<Add>(arm, {{c.dim}, out, s.expert_weights[e], s.routed.data()});
    }
    if (b.ffn_down.present()) multiply(arm, {&b.ffn_down, s.hidden.view(), s.ffn_out.data()});
    sum_experts(arm, b);
}

}  // namespace

void moe_indexed(Arm& arm, const Block& b) { run(arm, b, false); }
void moe_indexed_gate_up(Arm& arm, const Block& b) { run(arm, b, true); }

}  // namespace steady
