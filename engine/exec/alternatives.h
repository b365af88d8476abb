// The structural alternatives of the forward's steps: same meaning, another dataflow, another cache
// or other prepared weights. Adding one is a file in engine/model/steps/ and a line in this table;
// forward calls whichever the plan names.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace steady {

// How the KV cache keeps positions.
enum class CacheForm {
    rows,    // [n_blocks][context][kv_rank + n_rot] values of a type (f32, f16 or bf16)
    full,    // [n_blocks][heads][context][n_value + head_size] of them, value first, then key
    groups,  // [n_blocks][groups of positions] of integers, in a format of kernels/attention
};

struct Arm;
struct Block;
struct CacheFormat;

// What an alternative may ask of the model before it is chosen.
struct ModelTraits {
    bool quantised = false;  // some matrix outside the experts is
    bool has_experts = false;
    bool experts_are_q4_0 = false;            // gate, up and down of every block
    bool keys_fold = false;                   // attn_k_b is a tensor of its own
    bool query_ranked = false;                // the query's matrix is two, attn_q_a and attn_q_b
    std::int64_t n_value = 0, head_size = 0;  // of one head, where keys and values are kept in full
};

// s.h → s.ffn_out: the routed experts of one token and the shared expert. A batch of tokens goes
// expert by expert instead, whatever the alternative (steps/moe_grouped.cpp).
struct MoeAlternative {
    std::string_view name;
    void (*run)(Arm& arm, const Block& block);
    bool needs_q4_0_experts;  // calls op q4_0_experts on whole expert tensors
};

// s.q and s.kv → s.attn_out: attention of the tokens at positions first … over the cache, which
// they extend.
struct MlaAlternative {
    std::string_view name;
    void (*run)(Arm& arm, const Block& block, std::int64_t block_index, std::int64_t first);
    CacheForm cache;
    bool batches;         // takes several tokens in one pass; if not, prompts go token by token
    bool folded = false;  // k_b is part of the query's matrix: state.q holds the rotated parts only
    const CacheFormat* format = nullptr;  // of form groups
};

// How a vector is normed that products read: its q8 form is made behind it by op quantize_q8, or on
// the way by op rms_norm_q8.
struct NormAlternative {
    std::string_view name;
    bool quantises;
};

// A block's ops one by one, in steps, or joined into the few that a GPU has time to wait for
// (products, mla_decode, moe_decode), or into a single one: same meaning, and the only forms that
// run on a GPU. Joined, a prompt goes in batches by ops of their own and the steps above are not
// asked.
struct BlockAlternative {
    std::string_view name;
    bool joined;
    bool whole = false;  // joined into one op, block_decode
};

// apart, joined, whole
std::span<const BlockAlternative> block_alternatives();
// fused, joined, indexed, indexed_gate_up, unfused
std::span<const MoeAlternative> moe_alternatives();
// absorbed, absorbed_i16, folded, spans, spans_i8x2, heads, heads_q8, materialised
std::span<const MlaAlternative> mla_alternatives();
// apart, quantising
std::span<const NormAlternative> norm_alternatives();

}  // namespace steady
