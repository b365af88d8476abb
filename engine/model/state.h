// Everything that a pass writes on its way through the model, except the KV cache: allocated once
// per arm, so that decoding allocates nothing. Plain fields with their shapes, in forward order;
// each holds n of what its comment says, one after the other, where n is the tokens of this pass: 1
// in decoding, up to the arm's batch in a prompt.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/model/config.h"
#include "kernels/registry/activation.h"

namespace steady {

// A vector that matrices read: floats, and room for the same quantised in blocks of 32.
struct QuantizedVector {
    std::vector<float> f32;
    std::vector<std::int8_t> q8;
    std::vector<float> scale;
    std::vector<std::int32_t> sum;
    std::vector<std::int8_t> low;     // q16: the second byte
    std::vector<std::int32_t> sum16;  // q16: of 256 * q8 + low
    bool has_q8 = false;              // the norm that wrote f32 wrote q8, scale and sum as well

    void resize(std::int64_t n);
    Activation view() const {
        return {f32.data(), q8.data(), scale.data(), sum.data(), low.data(), sum16.data()};
    }
};

// Which rows of an input meet which group of a matrix, in the form that the matmul ops take.
struct VectorLists {
    std::vector<std::int32_t> first;         // [groups + 1]
    std::vector<std::int32_t> x_row, y_row;  // [first[groups]]
};

constexpr std::int64_t kMostSpans = 4;  // of positions, in step mla=spans

struct State {
    std::int64_t n = 1;    // tokens of this pass
    VectorLists plain;     // all tokens through one matrix
    VectorLists per_head;  // all tokens through each head's matrix
    VectorLists routed_x;  // tokens by expert: x_row is the token, y_row its place in this list
    VectorLists routed_h;  // the same with x_row the place, y_row the token's slot

    std::vector<float> x;           // [dim]: the residual
    QuantizedVector h;              // [dim]: x after a norm
    QuantizedVector q_a;            // [q_rank]
    std::vector<float> q;           // [heads][head_size]
    std::vector<float> kv;          // [kv_rank + n_rot]
    QuantizedVector q_nope;         // [heads][n_nope]
    std::vector<float> q_absorbed;  // [heads][kv_rank]
    std::vector<float> q_latent;  // [heads][kv_rank + n_rot], or full: [heads][n_value + head_size]
    QuantizedVector q_rows;       // [heads][kv_rank + n_rot], byte cache
    std::vector<float> k_nope;    // [heads][n_nope], materialised step
    std::int64_t lanes = 1;       // threads; each takes whole tokens of a batch through attention
    // The next three for each lane.
    std::vector<float> scores;     // [heads][context rounded up to 16]
    std::int64_t scores_size = 0;  // of a lane
    std::vector<float> span_out;   // [kMostSpans][heads][kv_rank], step mla=spans
    std::vector<float> span_sums;  // [kMostSpans][heads][2]
    QuantizedVector attended;      // [heads][kv_rank]
    QuantizedVector values;        // [heads][n_value]
    std::vector<float> attn_out;   // [dim]

    std::vector<float> gate, up;                // [max(ff, shared_ff)]
    QuantizedVector hidden;                     // [max(ff, shared_ff)]
    std::vector<float> router;                  // [n_experts]: logits
    std::vector<std::int32_t> expert_ids;       // [n_experts_used]
    std::vector<float> expert_weights;          // [n_experts_used]
    std::vector<float> expert_gate, expert_up;  // [n_experts_used][expert_ff]
    QuantizedVector expert_hidden;              // [n_experts_used][expert_ff]
    std::vector<float> expert_out;              // [n_experts_used][dim]
    std::vector<float> routed;                  // [dim]
    std::vector<float> ffn_out;                 // [dim]
    std::vector<float> logits;                  // [n_vocab], of the pass's last token

    std::vector<float> rope_cos, rope_sin;  // [context][n_rot / 2]
};

State make_state(const Config& config, std::int64_t context, std::int64_t batch,
                 std::int64_t lanes);
// Sets the number of tokens and the lists that depend on nothing else.
void begin_pass(State& state, const Config& config, std::int64_t n);
std::int64_t state_bytes(const State& state);  // of the buffers

}  // namespace steady
