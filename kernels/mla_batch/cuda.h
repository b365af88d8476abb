// What the GPU variants of a batch's attention enqueue.
#pragma once

#include "kernels/mla_batch/op.h"

namespace steady::cuda {

constexpr std::int64_t kMostBatchRank = 512;   // kv_rank whose sums a block holds in registers
constexpr std::int64_t kMostBatchWidth = 576;  // of a cached row, padded, in shared memory

// The cached rows of the batch's tokens.
void write_rows(const MlaBatch::Args& args);

// A cache whose rows are halves in multiples of 128 bytes serves as it is; any other is copied to
// such rows first.
struct HalfRows {
    const unsigned short* rows;  // [n_positions][rank + rot]
    int rank, rot;               // padded to multiples of 64, zeros behind the values
};
HalfRows half_rows(const MlaBatch::Args& args, unsigned short* room);

// The sums over the cache of all tokens and heads, [n][n_heads], as halves [rank] and, where not
// null, as floats [kv_rank]. q [n][n_heads][head_size] before its rotation, latent
// [n][n_heads][kv_rank].
void attend_tiles(const MlaBatch::Args& args, const float* q, const float* latent,
                  const HalfRows& cache, unsigned short* sums, float* floats);

}  // namespace steady::cuda
