// The forward, in the words of the model's papers: norm, query, latent, attention, feed-forward.
#include "engine/model/forward.h"

#include <array>

#include "engine/model/forward_parts.h"

namespace steady {
namespace {

// A root-mean-square norm of n values for each token; rows of x and y are `x_width` and `y_width`
// values apart.
void norm(Arm& arm, const float* x, std::int64_t x_width, const float* weight, std::int64_t n,
          float* y, std::int64_t y_width) {
    each<RmsNorm>(arm, [&](std::int64_t t) -> RmsNorm::Args {
        return {{n}, x + t * x_width, weight, arm.config.rms_epsilon, y + t * y_width};
    });
}

// The same for a vector that products read next.
void norm_for_products(Arm& arm, const float* x, const float* weight, std::int64_t n,
                       QuantizedVector& y) {
    y.has_q8 = arm.plan.norm->quantises && n % kActivationBlock == 0;
    if (!y.has_q8) return norm(arm, x, n, weight, n, y.f32.data(), n);
    each<RmsNormQ8>(arm, [&](std::int64_t t) -> RmsNormQ8::Args {
        const std::int64_t block = t * n / kActivationBlock;
        return {{n},
                x + t * n,
                weight,
                arm.config.rms_epsilon,
                y.f32.data() + t * n,
                y.q8.data() + t * n,
                y.scale.data() + block,
                y.sum.data() + block};
    });
}

void norm_residual(Arm& arm, const float* weight) {
    norm_for_products(arm, arm.state.x.data(), weight, arm.config.dim, arm.state.h);
}

void add_to_residual(Arm& arm, const std::vector<float>& y) {
    spread<Add>(arm, {{arm.state.n * arm.config.dim}, y.data(), 1, arm.state.x.data()});
}

// The query's products from x, h or q_a: whole heads, or the rotated parts and the rest with k_b.
std::array<Product, 2> query_products(Arm& arm, const Block& b, const QuantizedVector& x) {
    State& s = arm.state;
    if (arm.plan.mla->folded) {
        return {Product{&b.attn_q_rot, x.view(), s.q.data()},
                Product{&b.attn_q_folded, x.view(), s.q_absorbed.data()}};
    }
    return {Product{arm.config.q_rank == 0 ? &b.attn_q : &b.attn_q_b, x.view(), s.q.data()}, {}};
}

// h → q [heads][head_size] and kv [kv_rank + n_rot], before rotation. Products that read the same
// vector share a launch.
void project(Arm& arm, const Block& b) {
    State& s = arm.state;
    const Config& c = arm.config;
    const std::size_t n_query = arm.plan.mla->folded ? 2 : 1;
    const Product latent{&b.attn_kv_a_mqa, s.h.view(), s.kv.data()};
    if (c.q_rank == 0) {
        const auto query = query_products(arm, b, s.h);
        quantize_for(arm, s.h, s.n * c.dim, {query[0].m, &b.attn_q_folded, &b.attn_kv_a_mqa});
        const std::array all{latent, query[0], query[1]};
        return multiply(arm, std::span(all).first(1 + n_query));
    }
    quantize_for(arm, s.h, s.n * c.dim, {&b.attn_q_a, &b.attn_kv_a_mqa});
    multiply(arm, std::array{Product{&b.attn_q_a, s.h.view(), s.q_a.f32.data()}, latent});
    norm_for_products(arm, s.q_a.f32.data(), b.attn_q_a_norm, c.q_rank, s.q_a);
    const auto query = query_products(arm, b, s.q_a);
    quantize_for(arm, s.q_a, s.n * c.q_rank, {query[0].m, &b.attn_q_folded});
    multiply(arm, std::span(query).first(n_query));
}

// The rotary parts of every head's query and of the one shared key.
void rotate(Arm& arm, std::int64_t first) {
    State& s = arm.state;
    const Config& c = arm.config;
    const auto angles = [&](const std::vector<float>& table, std::int64_t t) {
        return table.data() + (first + t) * (c.n_rot / 2);
    };
    const bool folded = arm.plan.mla->folded;  // then nothing lies between the rotary parts
    const std::int64_t stride = folded ? c.n_rot : c.head_size();
    each<Rope>(arm, [&](std::int64_t t) -> Rope::Args {
        float* q = s.q.data() + t * c.n_heads * stride + (folded ? 0 : c.n_nope);
        return {{c.n_heads, c.n_rot}, q, stride, angles(s.rope_cos, t), angles(s.rope_sin, t)};
    });
    each<Rope>(arm, [&](std::int64_t t) -> Rope::Args {
        float* k = s.kv.data() + t * c.latent_size() + c.kv_rank;
        return {{1, c.n_rot}, k, c.n_rot, angles(s.rope_cos, t), angles(s.rope_sin, t)};
    });
}

void attention(Arm& arm, const Block& b, std::int64_t index, std::int64_t first) {
    State& s = arm.state;
    const Config& c = arm.config;
    norm_residual(arm, b.attn_norm);
    arm.note("attn_norm", index, values_of(s.h.f32, s.n, c.dim));
    project(arm, b);
    if (!arm.plan.mla->folded) {
        arm.note("q", index, values_of(s.q, s.n, c.n_heads * c.head_size()));
    }
    arm.note("kv_cmpr_pe", index, values_of(s.kv, s.n, c.latent_size()));
    const std::int64_t width = c.latent_size();
    norm(arm, s.kv.data(), width, b.attn_kv_a_norm, c.kv_rank, s.kv.data(), width);
    rotate(arm, first);
    arm.note("kv_cmpr", index, {s.kv.data(), static_cast<std::size_t>(c.kv_rank)});
    arm.note("k_pe", index, {s.kv.data() + c.kv_rank, static_cast<std::size_t>(c.n_rot)});
    arm.plan.mla->run(arm, b, index, first);
    arm.note("attn_out", index, values_of(s.attn_out, s.n, c.dim));
    add_to_residual(arm, s.attn_out);
    arm.note("ffn_inp", index, values_of(s.x, s.n, c.dim));
}

void dense(Arm& arm, const Block& b) {
    State& s = arm.state;
    quantize_for(arm, s.h, s.n * arm.config.dim, {&b.ffn_gate, &b.ffn_up});
    multiply(arm, std::array{Product{&b.ffn_gate, s.h.view(), s.gate.data()},
                             Product{&b.ffn_up, s.h.view(), s.up.data()}});
    swiglu_hidden(arm, b);
    multiply(arm, {&b.ffn_down, s.hidden.view(), s.ffn_out.data()});
}

}  // namespace

void swiglu_hidden(Arm& arm, const Block& b) {
    State& s = arm.state;
    const std::int64_t n = b.ffn_gate.rows;
    each<Swiglu>(arm, [&](std::int64_t t) -> Swiglu::Args {
        return {{n}, s.gate.data() + t * n, s.up.data() + t * n, s.hidden.f32.data() + t * n};
    });
    quantize_for(arm, s.hidden, s.n * n, {&b.ffn_down});
}

void embed(Arm& arm, std::span<const std::int32_t> tokens, std::int64_t first) {
    if (arm.joined) return embed_joined(arm, tokens.back(), first);
    begin_pass(arm.state, arm.config, static_cast<std::int64_t>(tokens.size()));
    const Matrix& m = arm.weights.token_embd;
    each<DequantizeRow>(arm, [&](std::int64_t t) -> DequantizeRow::Args {
        const std::int64_t token = tokens[static_cast<std::size_t>(t)];
        const std::byte* row = m.data + token * row_bytes(m.type, m.cols);
        return {{m.type, m.cols}, row, arm.state.x.data() + t * m.cols};
    });
}

void run_feed_forward(Arm& arm, std::int64_t index) {
    if (arm.joined) return run_feed_forward_joined(arm, index);
    State& s = arm.state;
    const Config& c = arm.config;
    const Block& b = arm.weights.blocks[static_cast<std::size_t>(index)];
    norm_residual(arm, b.ffn_norm);
    arm.note("ffn_norm", index, values_of(s.h.f32, s.n, c.dim));
    if (b.dense) {
        dense(arm, b);
    } else {
        s.n == 1 ? arm.plan.moe->run(arm, b) : moe_grouped(arm, b);
        arm.note("ffn_moe_logits", index, values_of(s.router, s.n, c.n_experts));
        arm.note("ffn_moe_out", index, values_of(s.routed, s.n, c.dim));
    }
    arm.note("ffn_out", index, values_of(s.ffn_out, s.n, c.dim));
    add_to_residual(arm, s.ffn_out);
    arm.note("l_out", index, values_of(s.x, s.n, c.dim));
}

void run_block(Arm& arm, std::int64_t index, std::int64_t first) {
    if (arm.joined) return run_block_joined(arm, index);
    attention(arm, arm.weights.blocks[static_cast<std::size_t>(index)], index, first);
    run_feed_forward(arm, index);
}

std::span<const float> forward(Arm& arm, std::span<const std::int32_t> tokens, std::int64_t first,
                               Want want) {
    if (arm.joined) return forward_joined(arm, tokens, first, want);
    State& s = arm.state;
    const Config& c = arm.config;
    const Weights& w = arm.weights;
    embed(arm, tokens, first);
    arm.note("inp_embd", -1, values_of(s.x, s.n, c.dim));
    for (std::int64_t i = 0; i < c.n_blocks; ++i) run_block(arm, i, first);
    if (want == Want::nothing) return {};
    // Only the last token's logits: from here on it is the only one.
    const float* last = s.x.data() + (s.n - 1) * c.dim;
    begin_pass(s, c, 1);
    norm_for_products(arm, last, w.output_norm, c.dim, s.h);
    arm.note("result_norm", -1, values_of(s.h.f32, 1, c.dim));
    quantize_for(arm, s.h, c.dim, {&w.output});
    multiply(arm, {&w.output, s.h.view(), s.logits.data()});
    arm.note("result_output", -1, s.logits);
    return s.logits;
}

}  // namespace steady
