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
// Set when the choice is written, cleared by the model block's first kernel.
inline unsigned* chosen_of(const BlockDecode::Args& args) {
    return reinterpret_cast<unsigned*>(args.scratch + BlockDecode::scratch_floats(args.shape) -
                                       BlockDecode::kChosen);
}

// Clusters that the output product's blocks form, each with a part of the router's sums.
int output_cluster(const BlockDecodeShape& shape);

bool handed_fits(const BlockDecodeShape& shape);
// What a variant does otherwise than the first one.
struct Ways {
    bool tiles = false;  // deep in a text: handed vectors too
    bool lean = false;   // attention in fewer registers, so that all its blocks find room at once
    bool late = false;   // what follows attention starts when the query is there, not before
    bool split = false;  // two warps share rows in the products that end either half of the block
    // The experts' outputs ask for their rows when the experts are chosen. With `late` alone: who
    // waits for the choice must have started after the first kernel's end, which clears it.
    bool early = false;
    bool parts = false;  // with `tiles`: blocks that share the positions do not meet
    bool wide = false;   // with `parts`: they take more positions at once
};
void run_phase(const BlockDecode::Args& args, int phase, const Ways& ways);
void run_first(const BlockDecode::Args& args);
void run_attention(const BlockDecode::Args& args, const Ways& ways);
// The same deep in a text, where all heads share tiles of the cache.
bool tiles_fit(const BlockDecodeShape& shape);
void run_tiles(const BlockDecode::Args& args, const Ways& ways);
void run_parts(const BlockDecode::Args& args, const Ways& ways);
void run_output(const BlockDecode::Args& args, bool from_floats, const Ways& ways);
void run_hidden(const BlockDecode::Args& args, const Ways& ways);
void run_outputs(const BlockDecode::Args& args, const Ways& ways);

constexpr int kAttentionTeam = 8;  // blocks of a head
// Bytes that a block of these kernels may ask for: of 227 KB on Hopper, less what they declare.
constexpr std::int64_t kMostShared = 216 * 1024;

}  // namespace steady::cuda
