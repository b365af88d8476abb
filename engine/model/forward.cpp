// The forward, in the words of the model's papers: norm, query, latent, attention, feed-forward.
#include "engine/model/forward.h"

#include <array>

namespace steady {
namespace {

void norm(Arm& arm, const float* x, const float* weight, std::int64_t n, float* y) {
    call<RmsNorm>(arm, {{n}, x, weight, arm.config.rms_epsilon, y});
}

void add_to_residual(Arm& arm, const std::vector<float>& y) {
    call<Add>(arm, {{arm.config.dim}, y.data(), 1, arm.state.x.data()});
}

// h → q [heads][head_size] and kv [kv_rank + n_rot], before rotation. The two first products read
// the same h, so they share a launch.
void project(Arm& arm, const Block& b) {
    State& s = arm.state;
    const Config& c = arm.config;
    const Matrix& first = c.q_rank == 0 ? b.attn_q : b.attn_q_a;
    quantize_for(arm, s.h, c.dim, {&first, &b.attn_kv_a_mqa});
    float* q_out = c.q_rank == 0 ? s.q.data() : s.q_a.f32.data();
    multiply(arm, std::array{Product{&first, s.h.view(), q_out},
                             Product{&b.attn_kv_a_mqa, s.h.view(), s.kv.data()}});
    if (c.q_rank == 0) return;
    norm(arm, s.q_a.f32.data(), b.attn_q_a_norm, c.q_rank, s.q_a.f32.data());
    quantize_for(arm, s.q_a, c.q_rank, {&b.attn_q_b});
    multiply(arm, {&b.attn_q_b, s.q_a.view(), s.q.data()});
}

// The rotary parts of every head's query and of the one shared key.
void rotate(Arm& arm, std::int64_t position) {
    State& s = arm.state;
    const Config& c = arm.config;
    const float* cos = s.rope_cos.data() + position * (c.n_rot / 2);
    const float* sin = s.rope_sin.data() + position * (c.n_rot / 2);
    call<Rope>(arm, {{c.n_heads, c.n_rot}, s.q.data() + c.n_nope, c.head_size(), cos, sin});
    call<Rope>(arm, {{1, c.n_rot}, s.kv.data() + c.kv_rank, c.n_rot, cos, sin});
}

void attention(Arm& arm, const Block& b, std::int64_t index, std::int64_t position) {
    State& s = arm.state;
    const Config& c = arm.config;
    norm(arm, s.x.data(), b.attn_norm, c.dim, s.h.f32.data());
    arm.note("attn_norm", index, s.h.f32);
    project(arm, b);
    arm.note("q", index, s.q);
    arm.note("kv_cmpr_pe", index, s.kv);
    norm(arm, s.kv.data(), b.attn_kv_a_norm, c.kv_rank, s.kv.data());
    rotate(arm, position);
    arm.note("kv_cmpr", index, {s.kv.data(), static_cast<std::size_t>(c.kv_rank)});
    arm.note("k_pe", index, {s.kv.data() + c.kv_rank, static_cast<std::size_t>(c.n_rot)});
    arm.plan.mla->run(arm, b, index, position);
    arm.note("attn_out", index, s.attn_out);
    add_to_residual(arm, s.attn_out);
    arm.note("ffn_inp", index, s.x);
}

void dense(Arm& arm, const Block& b) {
    State& s = arm.state;
    quantize_for(arm, s.h, arm.config.dim, {&b.ffn_gate, &b.ffn_up});
    multiply(arm, std::array{Product{&b.ffn_gate, s.h.view(), s.gate.data()},
                             Product{&b.ffn_up, s.h.view(), s.up.data()}});
    swiglu_hidden(arm, b);
    multiply(arm, {&b.ffn_down, s.hidden.view(), s.ffn_out.data()});
}

}  // namespace

void swiglu_hidden(Arm& arm, const Block& b) {
    State& s = arm.state;
    const std::int64_t n = b.ffn_gate.rows;
    call<Swiglu>(arm, {{n}, s.gate.data(), s.up.data(), s.hidden.f32.data()});
    quantize_for(arm, s.hidden, n, {&b.ffn_down});
}

void embed(Arm& arm, std::int32_t token) {
    const Matrix& m = arm.weights.token_embd;
    const std::byte* row = m.data + token * row_bytes(m.type, m.cols);
    call<DequantizeRow>(arm, {{m.type, m.cols}, row, arm.state.x.data()});
}

void run_feed_forward(Arm& arm, std::int64_t index) {
    State& s = arm.state;
    const Block& b = arm.weights.blocks[static_cast<std::size_t>(index)];
    norm(arm, s.x.data(), b.ffn_norm, arm.config.dim, s.h.f32.data());
    arm.note("ffn_norm", index, s.h.f32);
    b.dense ? dense(arm, b) : arm.plan.moe->run(arm, b);
    if (!b.dense) arm.note("ffn_moe_logits", index, s.router);
    if (!b.dense) arm.note("ffn_moe_out", index, s.routed);
    arm.note("ffn_out", index, s.ffn_out);
    add_to_residual(arm, s.ffn_out);
    arm.note("l_out", index, s.x);
}

void run_block(Arm& arm, std::int64_t index, std::int64_t position) {
    attention(arm, arm.weights.blocks[static_cast<std::size_t>(index)], index, position);
    run_feed_forward(arm, index);
}

std::span<const float> forward(Arm& arm, std::int32_t token, std::int64_t position,
                               bool want_logits) {
    State& s = arm.state;
    const Weights& w = arm.weights;
    embed(arm, token);
    arm.note("inp_embd", -1, s.x);
    for (std::int64_t i = 0; i < arm.config.n_blocks; ++i) run_block(arm, i, position);
    if (!want_logits) return {};
    norm(arm, s.x.data(), w.output_norm, arm.config.dim, s.h.f32.data());
    arm.note("result_norm", -1, s.h.f32);
    quantize_for(arm, s.h, arm.config.dim, {&w.output});
    multiply(arm, {&w.output, s.h.view(), s.logits.data()});
    arm.note("result_output", -1, s.logits);
    return s.logits;
}

}  // namespace steady
