// Sizes of the state, and the rotation table.
#include "engine/model/state.h"

#include <algorithm>
#include <cmath>

namespace steady {

void QuantizedVector::resize(std::int64_t n) {
    const auto blocks = static_cast<std::size_t>((n + kActivationBlock - 1) / kActivationBlock);
    f32.resize(static_cast<std::size_t>(n));
    q8.resize(blocks * static_cast<std::size_t>(kActivationBlock));
    scale.resize(blocks);
    sum.resize(blocks);
    low.resize(q8.size());
    sum16.resize(blocks);
}

State make_state(const Config& c, std::int64_t context) {
    const auto size = [](std::int64_t n) { return static_cast<std::size_t>(n); };
    State s;
    s.x.resize(size(c.dim));
    s.h.resize(c.dim);
    s.q_a.resize(c.q_rank);
    s.q.resize(size(c.n_heads * c.head_size()));
    s.kv.resize(size(c.latent_size()));
    s.c.resize(c.kv_rank);
    s.q_nope.resize(c.n_heads * c.n_nope);
    s.q_absorbed.resize(size(c.n_heads * c.kv_rank));
    s.q_latent.resize(size(c.n_heads * std::max(c.latent_size(), c.n_value + c.head_size())));
    s.k_nope.resize(size(c.n_heads * c.n_nope));
    s.q_rows.resize(c.n_heads * c.latent_size());
    s.scores.resize(size(c.n_heads * ((context + 15) / 16 * 16)));
    s.attended.resize(c.n_heads * c.kv_rank);
    s.values.resize(c.n_heads * c.n_value);
    s.attn_out.resize(size(c.dim));
    const std::int64_t ff = std::max(c.ff, c.shared_ff());
    s.gate.resize(size(ff));
    s.up.resize(size(ff));
    s.hidden.resize(ff);
    s.router.resize(size(c.n_experts));
    s.expert_ids.resize(size(c.n_experts_used));
    s.expert_weights.resize(size(c.n_experts_used));
    s.expert_gate.resize(size(c.n_experts_used * c.expert_ff));
    s.expert_up.resize(size(c.n_experts_used * c.expert_ff));
    s.expert_hidden.resize(c.n_experts_used * c.expert_ff);
    s.expert_out.resize(size(c.n_experts_used * c.dim));
    s.routed.resize(size(c.dim));
    s.ffn_out.resize(size(c.dim));
    s.logits.resize(size(c.n_vocab));

    const std::vector<double> frequencies = rope_frequencies(c);
    s.rope_cos.resize(size(context) * frequencies.size());
    s.rope_sin.resize(size(context) * frequencies.size());
    for (std::size_t p = 0; p < size(context); ++p) {
        for (std::size_t i = 0; i < frequencies.size(); ++i) {
            const double angle = static_cast<double>(p) * frequencies[i];
            s.rope_cos[p * frequencies.size() + i] = static_cast<float>(std::cos(angle));
            s.rope_sin[p * frequencies.size() + i] = static_cast<float>(std::sin(angle));
        }
    }
    return s;
}

std::int64_t state_bytes(const State& s) {
    std::size_t bytes = 0;
    for (const auto* v : {&s.x,           &s.q,         &s.kv,         &s.q_absorbed,
                          &s.q_latent,    &s.k_nope,    &s.scores,     &s.attn_out,
                          &s.gate,        &s.up,        &s.router,     &s.expert_weights,
                          &s.expert_gate, &s.expert_up, &s.expert_out, &s.routed,
                          &s.ffn_out,     &s.logits,    &s.rope_cos,   &s.rope_sin}) {
        bytes += v->size() * sizeof(float);
    }
    for (const auto* v : {&s.h, &s.q_a, &s.c, &s.q_nope, &s.q_rows, &s.attended, &s.values,
                          &s.hidden, &s.expert_hidden}) {
        bytes += v->f32.size() * sizeof(float) + 2 * v->q8.size() + v->scale.size() * 12;
    }
    return static_cast<std::int64_t>(bytes);
}

}  // namespace steady
