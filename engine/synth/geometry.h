// The sizes of the three models as their published files state them, and of their reduced sisters.
#pragma once

#include <cstdint>
#include <string>

#include "engine/gguf/writer.h"
#include "engine/synth/synth.h"

namespace steady {

struct Geometry {
    std::string name;
    std::string pre;  // pre-tokeniser
    std::uint32_t context = 0;
    std::uint32_t dim = 0;
    std::uint32_t n_blocks = 0;
    std::uint32_t n_dense = 0;  // leading blocks with a dense feed-forward
    std::uint32_t ff = 0;       // hidden size of the dense feed-forward
    std::uint32_t n_heads = 0;
    std::uint32_t q_rank = 0;  // 0: queries come from one matrix
    std::uint32_t kv_rank = 0;
    std::uint32_t n_rot = 0;  // rotated part of a head
    std::uint32_t nope = 0;   // part of a head that is not rotated
    std::uint32_t value = 0;  // values of one head
    std::uint32_t n_experts = 0;
    std::uint32_t n_used = 0;
    std::uint32_t ff_expert = 0;
    std::uint32_t n_shared = 0;
    std::uint32_t gating = 0;  // 1 softmax, 2 sigmoid with selection bias
    float expert_scale = 0.0F;
    bool expert_normalise = false;
    float rope_base = 0.0F;
    float epsilon = 0.0F;
    bool yarn = false;
    bool tied = false;  // output matrix is the embedding
    std::uint32_t n_vocab = 0;
    std::uint32_t first_special = 0;  // token number
};

// Error for an unknown architecture or a number of blocks outside of 1..1024.
Geometry geometry_of(const SynthOptions& options);

// Writes the deepseek2.* metadata.
void write_geometry(const Geometry& geometry, GgufWriter& writer);

}  // namespace steady
