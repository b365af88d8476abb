// What the GPU variant of a whole block enqueues.
#pragma once

#include "kernels/block_decode/op.h"
#include "kernels/cuda/units.h"

namespace steady::cuda {

// Copies of what all blocks of the feed-forward's two kernels read at once.
constexpr int kFfnCopies = BlockDecode::kCopies, kHiddenCopies = BlockDecode::kCopies / 2;

// Where the kernels hand over, in the op's scratch.
struct BlockScratch {
    unsigned char *x, *query, *values, *ffn, *hidden;             // handed vectors
    float *x_squares, *query_squares, *kv_squares, *ffn_squares;  // of their groups of sixteen
    float* logits;  // [copies][parts][n_experts]: the router's sums, unnormed
};
BlockScratch scratch_of(const BlockDecode::Args& args);

// Clusters that the output product's blocks form, each with a part of the router's sums.
int output_cluster(const BlockDecodeShape& shape);

void run_first(const BlockDecode::Args& args);
void run_attention(const BlockDecode::Args& args);
void run_output(const BlockDecode::Args& args, bool from_floats);
void run_hidden(const BlockDecode::Args& args);
void run_outputs(const BlockDecode::Args& args);

constexpr int kAttentionTeam = 8;  // blocks of a head
// Bytes that a block of these kernels may ask for: of 227 KB on Hopper, less what they declare.
constexpr std::int64_t kMostShared = 216 * 1024;

}  // namespace steady::cuda
