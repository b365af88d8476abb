// What the GPU variants of a batch's experts enqueue between their products.
#pragma once

#include "kernels/cuda/tiles.h"
#include "kernels/moe_batch/op.h"

namespace steady::cuda {

// Each token's experts and weights, from its logits; as op moe_router.
void choose_experts(const MoeBatch::Args& args);

// Places of tokens, sorted by expert and in order within one.
struct Sorted {
    int* first;    // [n_experts + 1]
    int* token;    // [n * n_used], by place
    int* place;    // [n][n_used]
    int* tiles;    // [most][2]
    int* n_tiles;  // [1]
    int most, tile;
};
Sorted room_for_places(Room& room, const MoeBatchShape& shape);
void sort_tokens(const MoeBatch::Args& args, const Sorted& sorted);

// x += Σ weights · the outputs of the chosen experts, [place][cols].
void add_experts(const MoeBatch::Args& args, const Sorted& sorted, const float* outputs);

}  // namespace steady::cuda
