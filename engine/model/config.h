// What a model is, in numbers: read once from the file's metadata, checked, and never assumed. All
// models of GGUF architecture "deepseek2" fit this struct: with and without experts, with and
// without a low-rank query, with and without YaRN.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/gguf/file.h"
#include "kernels/moe_router/op.h"

namespace steady {

struct Yarn {
    float factor = 1;
    std::int64_t original_context = 0;
    float log_multiplier = 0;             // as in the file: 0.1 * mscale_all_dim
    float beta_fast = 32, beta_slow = 1;  // turns within the original context
};

struct Config {
    std::string architecture;         // "deepseek2"
    std::string name;                 // general.name, may be empty
    std::int64_t n_blocks = 0;        // those that decoding uses; prediction blocks are not counted
    std::int64_t n_dense_blocks = 0;  // the first blocks, without experts
    std::int64_t n_vocab = 0;
    std::int64_t context_length = 0;  // positions the model was made for; 0 unknown
    std::int64_t dim = 0;             // residual width
    float rms_epsilon = 0;

    std::int64_t n_heads = 0;
    std::int64_t q_rank = 0;   // 0: one query matrix
    std::int64_t kv_rank = 0;  // width of the latent that is cached
    std::int64_t n_rot = 0;    // values per head with a rotation
    std::int64_t n_nope = 0;   // values per head without
    std::int64_t n_value = 0;  // values per head of V
    bool split_kv_b = true;    // false: attn_kv_b in place of attn_k_b and attn_v_b

    std::int64_t ff = 0;         // hidden width of dense blocks
    std::int64_t n_experts = 0;  // 0: every block is dense
    std::int64_t n_experts_used = 0;
    std::int64_t expert_ff = 0;
    std::int64_t n_shared_experts = 0;
    Gating gating = Gating::softmax;
    bool expert_weights_norm = false;
    float expert_weights_scale = 1;  // 1: none

    float rope_base = 10000;
    std::optional<Yarn> yarn;
    float attention_scale = 0;

    std::int64_t head_size() const { return n_nope + n_rot; }
    std::int64_t latent_size() const { return kv_rank + n_rot; }  // one cached row
    std::int64_t shared_ff() const { return n_shared_experts * expert_ff; }
    bool is_dense(std::int64_t block) const { return block < n_dense_blocks; }
};

// Error naming file, key, found and allowed.
Config read_config(const GgufFile& file);

// Rotation angle per position of pair i: [n_rot / 2].
std::vector<double> rope_frequencies(const Config& config);

}  // namespace steady
