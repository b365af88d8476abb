// Launches the kernels that Triton generated behind the hand-written queries, where they take the
// call; else the hand-written ones. For .cu files alone.
#pragma once

#include <cstddef>

#include "kernels/generated/ptx.h"
#include "kernels/mla_decode/cuda.h"
#include "kernels/mla_decode/triton_attention.h"

namespace steady::cuda {

constexpr int kTritonCluster = 8;  // blocks of a head, in the hand-written kernels

inline Size size_of(const TritonAttention& kernel, std::int64_t blocks) {
    Size size;
    size.blocks = static_cast<int>(blocks);
    size.threads = kernel.threads;
    size.shared_bytes = static_cast<std::size_t>(kernel.shared_bytes);
    return size;
}

// As cuda_cluster.
inline void run_hand_written(const MlaDecode::Args& args) {
    const bool deep = args.shape.n_positions > kDeepFrom && deep_fits(args);
    deep ? run_deep(args, kTritonCluster) : run_mla_decode(args, false, kTritonCluster);
}

template <const TritonAttention& kTiles, const TritonAttention& kJoin>
void run_triton_attention(const MlaDecode::Args& args) {
    static_assert(kTiles.parts <= kDeepParts);
    static PtxKernel tiles = {kTiles.ptx, "tiles"}, join = {kJoin.ptx, "join"};
    const MlaDecodeShape& s = args.shape;
    if (!deep_fits(args) || s.n_value % kJoin.rows != 0) return run_hand_written(args);
    const DeepScratch scratch = deep_scratch(args);
    const int n_heads = static_cast<int>(s.n_heads);
    run_deep_query(args, kTritonCluster);
    const int groups = (n_heads + kTiles.heads - 1) / kTiles.heads;
    launch_triton_kernel<kTritonAttentionScratch>(tiles, size_of(kTiles, groups * kTiles.parts),
                                                  scratch.query, args.cache, args.position,
                                                  scratch.sums, scratch.most, n_heads, args.scale);
    launch_triton_kernel<kTritonAttentionScratch>(
        join, size_of(kJoin, s.n_heads * s.n_value / kJoin.rows), scratch.sums, scratch.most,
        args.position, args.v_b.w, args.out, n_heads, static_cast<int>(s.n_value), kTiles.tile,
        kTiles.parts);
}

}  // namespace steady::cuda
