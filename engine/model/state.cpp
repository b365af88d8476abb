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

namespace {

// Every one of n tokens through each of `groups` matrices; rows of tokens hold the groups in turn.
void fill_lists(VectorLists& lists, std::int64_t groups, std::int64_t n) {
    lists.first.clear();
    lists.x_row.clear();
    for (std::int64_t g = 0; g < groups; ++g) {
        lists.first.push_back(static_cast<std::int32_t>(g * n));
        for (std::int64_t t = 0; t < n; ++t) {
            lists.x_row.push_back(static_cast<std::int32_t>(t * groups + g));
        }
    }
    lists.first.push_back(static_cast<std::int32_t>(groups * n));
    lists.y_row = lists.x_row;
}

}  // namespace

void begin_pass(State& s, const Config& c, std::int64_t n) {
    if (s.n == n) return;
    s.n = n;
    if (n == 1) return;
    fill_lists(s.plain, 1, n);
    fill_lists(s.per_head, c.n_heads, n);
}

State make_state(const Config& c, std::int64_t context, std::int64_t batch, std::int64_t lanes) {
    const auto size = [batch](std::int64_t n) { return static_cast<std::size_t>(batch * n); };
    State s;
    for (VectorLists* lists : {&s.plain, &s.per_head, &s.routed_x, &s.routed_h}) {
        lists->first.reserve(static_cast<std::size_t>(std::max(c.n_experts, c.n_heads) + 1));
        lists->x_row.reserve(size(std::max(c.n_experts_used, c.n_heads)));
        lists->y_row.reserve(lists->x_row.capacity());
    }
    s.x.resize(size(c.dim));
    s.h.resize(batch * c.dim);
    s.q_a.resize(batch * c.q_rank);
    s.q.resize(size(c.n_heads * c.head_size()));
    s.kv.resize(size(c.latent_size()));
    s.q_nope.resize(batch * c.n_heads * c.n_nope);
    s.q_absorbed.resize(size(c.n_heads * c.kv_rank));
    s.q_latent.resize(size(c.n_heads * std::max(c.latent_size(), c.n_value + c.head_size())));
    s.k_nope.resize(size(c.n_heads * c.n_nope));
    s.q_rows.resize(c.n_heads * c.latent_size());
    s.lanes = batch > 1 ? lanes : 1;
    s.scores_size = c.n_heads * ((context + 15) / 16 * 16);
    s.scores.resize(static_cast<std::size_t>(s.lanes * s.scores_size));
    s.attended.resize(batch * c.n_heads * c.kv_rank);
    s.span_out.resize(static_cast<std::size_t>(s.lanes * kMostSpans * c.n_heads * c.kv_rank));
    s.span_sums.resize(static_cast<std::size_t>(s.lanes * kMostSpans * c.n_heads * 2));
    s.values.resize(batch * c.n_heads * c.n_value);
    s.attn_out.resize(size(c.dim));
    const std::int64_t ff = std::max(c.ff, c.shared_ff());
    s.gate.resize(size(ff));
    s.up.resize(size(ff));
    s.hidden.resize(batch * ff);
    s.router.resize(size(c.n_experts));
    s.expert_ids.resize(size(c.n_experts_used));
    s.expert_weights.resize(size(c.n_experts_used));
    s.expert_gate.resize(size(c.n_experts_used * c.expert_ff));
    s.expert_up.resize(size(c.n_experts_used * c.expert_ff));
    s.expert_hidden.resize(batch * c.n_experts_used * c.expert_ff);
    s.expert_out.resize(size(c.n_experts_used * c.dim));
    s.routed.resize(size(c.dim));
    s.ffn_out.resize(size(c.dim));
    s.logits.resize(static_cast<std::size_t>(c.n_vocab));

    const std::vector<double> frequencies = rope_frequencies(c);
    const auto n_positions = static_cast<std::size_t>(context);
    s.rope_cos.resize(n_positions * frequencies.size());
    s.rope_sin.resize(n_positions * frequencies.size());
    for (std::size_t p = 0; p < n_positions; ++p) {
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
                          &s.ffn_out,     &s.logits,    &s.rope_cos,   &s.rope_sin,
                          &s.span_out,    &s.span_sums}) {
        bytes += v->size() * sizeof(float);
    }
    for (const auto* v : {&s.h, &s.q_a, &s.q_nope, &s.q_rows, &s.attended, &s.values, &s.hidden,
                          &s.expert_hidden}) {
        bytes += v->f32.size() * sizeof(float) + 2 * v->q8.size() + v->scale.size() * 12;
    }
    return static_cast<std::int64_t>(bytes);
}

}  // namespace steady
