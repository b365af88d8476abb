// Attention over the latent cache with AVX2, a tile of positions at a time: the tile is scored for
// all heads of a thread, five heads and two positions in registers, and added to their outputs with
// an online softmax before the next one, so that a row comes from memory once per thread. What
// all_heads_avx512.h is to AVX-512. A head's arithmetic does not depend on which heads go with it.
#pragma once

#include "kernels/mla_attention/op.h"
#include "kernels/mla_attention/softmax_avx2.h"
#include "kernels/simd/avx2.h"
#include "kernels/simd/target.h"

namespace steady::mla_avx2_tiles {

using mla_avx2_softmax::divide;
using mla_avx2_softmax::Running;
using mla_avx2_softmax::to_weights;

constexpr int kHeads = 5;                 // heads that share a pass over the tile
constexpr std::int64_t kTile = 32;        // positions per step of the online softmax
constexpr int kPositions = 2;             // positions scored together
constexpr int kVectors = 2;               // output registers per head and pass
constexpr std::int64_t kTogether = 64;    // heads whose softmax runs side by side
constexpr std::int64_t kMaxWidth = 1088;  // of a row: a tile of floats lies on the stack

// Whole registers only, of a cache that holds Value.
template <class Value>
bool supports(const MlaAttentionShape& shape) {
    const std::int64_t width = shape.kv_rank + shape.n_rot;
    return shape.cache == mla_cache::kType<Value> && shape.kv_rank % 8 == 0 && width % 8 == 0 &&
           width <= kMaxWidth;
}

KERNEL_TARGET_BEGIN(KERNEL_AVX2)

// Eight cached values as floats.
[[gnu::always_inline]] inline __m256 load(const Half* at) {
    return avx2::halves(reinterpret_cast<const std::byte*>(at));
}
[[gnu::always_inline]] inline __m256 load(const Bfloat* at) {
    const __m128i upper = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(upper), 16));
}

// The tile's n values as floats: where they lie, or in `room`.
template <class Value>
const float* as_floats(const Value* tile, std::int64_t n, float* room) {
    for (std::int64_t i = 0; i < n; i += 8) _mm256_store_ps(room + i, load(tile + i));
    return room;
}
inline const float* as_floats(const float* tile, std::int64_t /*n*/, float* /*room*/) {
    return tile;
}

// scores[h][p] of kN heads and kP positions: each register of q and of the rows is loaded once.
template <int kN, int kP>
[[gnu::always_inline]] inline void score_block(const float* q, const float* rows,
                                               std::int64_t width, float scale, float* scores) {
    __m256 sums[kN][kP];
    for (int h = 0; h < kN; ++h) {
        for (int p = 0; p < kP; ++p) sums[h][p] = _mm256_setzero_ps();
    }
    for (std::int64_t i = 0; i < width; i += 8) {
        __m256 row[kP];
        for (int p = 0; p < kP; ++p) row[p] = _mm256_loadu_ps(rows + p * width + i);
        for (int h = 0; h < kN; ++h) {
            const __m256 chunk = _mm256_loadu_ps(q + h * width + i);
            for (int p = 0; p < kP; ++p) sums[h][p] = _mm256_fmadd_ps(chunk, row[p], sums[h][p]);
        }
    }
    for (int h = 0; h < kN; ++h) {
        for (int p = 0; p < kP; ++p) scores[h * kTile + p] = scale * avx2::sum(sums[h][p]);
    }
}

// out[h][i …] = out · shrink[h] + Σ_p weight[h][p] · rows[p][i …] for kV registers of columns.
template <int kN, int kV>
[[gnu::always_inline]] inline void add_columns(const float* weights, const float* rows,
                                               std::int64_t n, std::int64_t width,
                                               const float* shrink, float* out,
                                               std::int64_t out_stride) {
    __m256 sums[kN][kV];
    for (int h = 0; h < kN; ++h) {
        for (int v = 0; v < kV; ++v) {
            const __m256 old = _mm256_loadu_ps(out + h * out_stride + 8 * v);
            sums[h][v] = shrink[h] == 0 ? _mm256_setzero_ps()
                                        : _mm256_mul_ps(old, _mm256_set1_ps(shrink[h]));
        }
    }
    for (std::int64_t p = 0; p < n; ++p) {
        __m256 row[kV];
        for (int v = 0; v < kV; ++v) row[v] = _mm256_loadu_ps(rows + p * width + 8 * v);
        for (int h = 0; h < kN; ++h) {
            const __m256 weight = _mm256_set1_ps(weights[h * kTile + p]);
            for (int v = 0; v < kV; ++v) sums[h][v] = _mm256_fmadd_ps(weight, row[v], sums[h][v]);
        }
    }
    for (int h = 0; h < kN; ++h) {
        for (int v = 0; v < kV; ++v) _mm256_storeu_ps(out + h * out_stride + 8 * v, sums[h][v]);
    }
}

// Adds n ≤ kTile positions to the unnormalised outputs out[kN][kv_rank] of kN neighbouring heads;
// q is that of the first.
template <int kN>
void attend_tile(const float* q, const float* rows, std::int64_t n, const MlaAttentionShape& shape,
                 float scale, float* out, Running* running) {
    const std::int64_t width = shape.kv_rank + shape.n_rot;
    alignas(32) float scores[kN * kTile];
    std::int64_t p = 0;
    for (; p + kPositions <= n; p += kPositions) {
        score_block<kN, kPositions>(q, rows + p * width, width, scale, scores + p);
    }
    for (; p < n; ++p) score_block<kN, 1>(q, rows + p * width, width, scale, scores + p);
    float shrink[kN];
    for (int h = 0; h < kN; ++h) shrink[h] = to_weights(scores + h * kTile, n, running[h]);
    std::int64_t i = 0;
    for (; i + 8 * kVectors <= shape.kv_rank; i += 8 * kVectors) {
        add_columns<kN, kVectors>(scores, rows + i, n, width, shrink, out + i, shape.kv_rank);
    }
    for (; i < shape.kv_rank; i += 8) {
        add_columns<kN, 1>(scores, rows + i, n, width, shrink, out + i, shape.kv_rank);
    }
}

// A tile for heads [first, last): by fives as far as they go, then one by one.
inline void attend_heads(const MlaAttention::Args& args, const float* rows, std::int64_t n,
                         std::int64_t first, std::int64_t last, Running* running) {
    const MlaAttentionShape& shape = args.shape;
    for (std::int64_t head = first; head < last;) {
        const float* q = args.q + head * (shape.kv_rank + shape.n_rot);
        float* out = args.out + head * shape.kv_rank;
        Running* state = running + (head - first);
        if (last - head >= kHeads) {
            attend_tile<kHeads>(q, rows, n, shape, args.scale, out, state);
            head += kHeads;
        } else {
            attend_tile<1>(q, rows, n, shape, args.scale, out, state);
            ++head;
        }
    }
}

// A head's outputs become the weighted mean of what was added to them.
inline void finish(const MlaAttention::Args& args, std::int64_t head, const Running& running) {
    args.keep_sums(head, running.largest, running.total);
    divide(args.out + head * args.shape.kv_rank, args.shape.kv_rank, running);
}

// Heads [first, last), at most kTogether.
template <class Value>
void attend_together(const MlaAttention::Args& args, std::int64_t first, std::int64_t last) {
    const MlaAttentionShape& shape = args.shape;
    const std::int64_t width = shape.kv_rank + shape.n_rot;
    alignas(32) float room[std::is_same_v<Value, float> ? 1 : kTile * kMaxWidth];
    Running running[kTogether];
    for (std::int64_t t = 0; t < shape.n_positions; t += kTile) {
        const std::int64_t n = std::min(kTile, shape.n_positions - t);
        const float* rows = as_floats(args.rows<Value>() + t * width, n * width, room);
        attend_heads(args, rows, n, first, last, running);
    }
    for (std::int64_t head = first; head < last; ++head) {
        finish(args, head, running[head - first]);
    }
}

template <class Value>
void run(const MlaAttention::Args& args, Range range) noexcept {
    for (std::int64_t head = range.begin; head < range.end; head += kTogether) {
        attend_together<Value>(args, head, std::min(head + kTogether, range.end));
    }
}

KERNEL_TARGET_END

template <class Value>
VariantOptions<MlaAttention> options() {
    return {.needs = cpu::avx2, .supports = supports<Value>, .run = run<Value>};
}

}  // namespace steady::mla_avx2_tiles
