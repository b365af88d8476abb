// What the GPU variants of the joined attention enqueue.
#pragma once

#include "kernels/mla_decode/op.h"

namespace steady::cuda {

// cluster: blocks that take a head together, sharing its rows and positions by way of each other's
// shared memory; 1 needs no capability beyond 8.0.
void run_mla_decode(const MlaDecode::Args& args, bool as_floats, int cluster);

// The same from kDeepFrom positions on, where all heads share tiles of the cache; for Q4_0
// matrices, a cache of halves and the models' latent width.
bool deep_fits(const MlaDecode::Args& args);
void run_deep(const MlaDecode::Args& args, int cluster);
// Its first kernel alone, and what it and the next ones hand each other: queries in latent space
// (halves, [n_heads][width]); of each part of the positions the sums ([parts][n_heads][kv_rank]),
// the largest score and Σ e^(score − largest) ([parts][n_heads][2]).
void run_deep_query(const MlaDecode::Args& args, int cluster);
struct DeepScratch {
    void* query;
    float* sums;
    float* most;
};
DeepScratch deep_scratch(const MlaDecode::Args& args);
constexpr std::int64_t kDeepFrom = 512;
constexpr int kDeepParts = 128;  // blocks that share the positions
static_assert(kDeepParts == MlaDecode::kParts);

constexpr std::int64_t kMostRank = 512;  // kv_rank that a warp holds in registers
constexpr std::int64_t kMostRot = 128;   // n_rot

inline bool attention_fits(const MlaDecodeShape& shape) {
    return shape.kv_rank <= kMostRank && shape.kv_rank % 2 == 0 && shape.n_rot <= kMostRot;
}
// Whether every head's planes begin at multiples of 16 bytes.
inline bool heads_align(const MlaDecodeShape& shape) {
    return shape.head_size() % 8 == 0 && shape.kv_rank % 8 == 0 && shape.n_value % 8 == 0;
}

}  // namespace steady::cuda
