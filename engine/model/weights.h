// The tensors that decoding reads, under their GGUF names and in the order in which the forward
// meets them. Building the struct checks every shape and type; the bytes themselves are in a
// WeightStore, in the layout that this arm's kernels want.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/exec/kernel_plan.h"
#include "engine/model/config.h"
#include "engine/model/weight_store.h"

namespace steady {

// `groups` matrices of rows × cols, one after the other.
struct Matrix {
    Type type = Type::f32;
    std::int64_t groups = 1, rows = 0, cols = 0;
    const std::byte* data = nullptr;
    std::int64_t group_bytes = 0;  // in the arm's layout
    bool present() const { return rows != 0; }
    // Bytes of one group in the file's layout.
    std::int64_t source_bytes() const { return rows * row_bytes(type, cols); }
};

struct Block {
    const float* attn_norm = nullptr;      // [dim]
    Matrix attn_q;                         // [heads * head_size][dim]; without q_rank only
    Matrix attn_q_a;                       // [q_rank][dim]
    const float* attn_q_a_norm = nullptr;  // [q_rank]
    Matrix attn_q_b;                       // [heads * head_size][q_rank]
    // Folded instead: from what attn_q or attn_q_b reads.
    Matrix attn_q_rot;                      // [heads * n_rot][q_rank or dim]
    Matrix attn_q_folded;                   // [heads * kv_rank][q_rank or dim]: k_b times the rest
    Matrix attn_kv_a_mqa;                   // [kv_rank + n_rot][dim]
    const float* attn_kv_a_norm = nullptr;  // [kv_rank]
    Matrix attn_k_b;                        // [heads][kv_rank][n_nope]: absorbed
    Matrix attn_k_rows;                     // [heads][n_nope][kv_rank]: materialised
    Matrix attn_v_b;                        // [heads][n_value][kv_rank]
    Matrix attn_output;                     // [dim][heads * n_value]
    const float* ffn_norm = nullptr;        // [dim]

    bool dense = false;
    Matrix ffn_gate, ffn_up;  // dense: [ff][dim]; experts: the shared one, [shared_ff][dim]
    Matrix ffn_down;          // dense: [dim][ff]; experts: [dim][shared_ff]
    Matrix ffn_gate_inp;      // [n_experts][dim]
    const float* exp_probs_b = nullptr;  // [n_experts] or null
    Matrix ffn_gate_exps, ffn_up_exps;   // [n_experts][expert_ff][dim]
    Matrix ffn_down_exps;                // [n_experts][dim][expert_ff]
};

struct Weights {
    Matrix token_embd;  // [n_vocab][dim], always as in the file: rows are picked from it
    std::vector<Block> blocks;
    const float* output_norm = nullptr;  // [dim]
    Matrix output;                       // [n_vocab][dim]; the embedding when tied
    std::int64_t bytes_per_token = 0;    // that one decode step reads, in the file's layout
    std::int64_t placed_bytes = 0;       // in the store, of all tensors above
};

// The shapes and traits that a plan is resolved against, from the tensor table alone. Error naming
// the tensor, found and allowed, for any that is missing or has another shape or type.
struct ModelUses {
    UsedShapes shapes;
    ModelTraits traits;
};
ModelUses model_uses(const GgufFile& file, const Config& config);

// Places all tensors in the store, in the layouts of the plan's variants. Data may be read after
// store.load(). Errors as above.
Weights place_weights(const GgufFile& file, const Config& config, const KernelPlan& plan,
                      WeightStore& store);

}  // namespace steady
