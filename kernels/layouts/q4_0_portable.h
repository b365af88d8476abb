// Q4_0 rows without intrinsics: the loops that the portable rungs share. A rung says how one block
// meets x; eight partial sums let the compiler use its baseline vectors.
#pragma once

#include "kernels/formats/formats.h"

namespace steady::q4_0_portable {

// Adds the products of one block with 32 values of x to eight sums.
using AddBlock = void (*)(const BlockQ4_0& block, const float* x, float* sums);

template <AddBlock kAddBlock>
float dot(const std::byte* row, const float* x, std::int64_t n_blocks) {
    const auto* blocks = reinterpret_cast<const BlockQ4_0*>(row);
    float sums[8] = {};
    for (std::int64_t b = 0; b < n_blocks; ++b) kAddBlock(blocks[b], x + 32 * b, sums);
    return ((sums[0] + sums[1]) + (sums[2] + sums[3])) +
           ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}

// Each weight made a float with its scale before it meets x.
inline void add_scaled(const BlockQ4_0& block, const float* x, float* sums) {
    for (int j = 0; j < 16; ++j) {
        const float d = half_to_float(block.d);
        const float low = d * static_cast<float>((block.qs[j] & 15) - 8);
        const float high = d * static_cast<float>((block.qs[j] >> 4) - 8);
        sums[j % 8] += low * x[j] + high * x[j + 16];
    }
}

// Quants meet x first; one multiplication per sum and block applies the scale.
inline void add_hoisted(const BlockQ4_0& block, const float* x, float* sums) {
    float block_sums[8] = {};
    for (int j = 0; j < 16; ++j) {
        const float low = static_cast<float>((block.qs[j] & 15) - 8);
        const float high = static_cast<float>((block.qs[j] >> 4) - 8);
        block_sums[j % 8] += low * x[j] + high * x[j + 16];
    }
    const float d = half_to_float(block.d);
    for (int j = 0; j < 8; ++j) sums[j] += d * block_sums[j];
}

// The whole matvec, for any Args with shape, w, x and y.
template <AddBlock kAddBlock, class Args, class Range>
void matvec(const Args& args, Range range) noexcept {
    const std::int64_t n_blocks = args.shape.cols / 32;
    for (std::int64_t r = range.begin; r < range.end; ++r) {
        const float* x = args.x.f32 + r / args.shape.rows * args.shape.cols;
        args.y[r] = dot<kAddBlock>(args.w + r * n_blocks * 18, x, n_blocks);
    }
}

}  // namespace steady::q4_0_portable
