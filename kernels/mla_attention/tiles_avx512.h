// Attention over the latent cache with AVX-512: five heads share each row. A tile of positions is
// scored for all of them, then added to their outputs with an online softmax, so that rows come
// from memory once. A head's arithmetic does not depend on which heads go with it.
#pragma once

#include <algorithm>
#include <cmath>

#include "kernels/mla_attention/op.h"
#include "kernels/simd/avx512.h"
#include "kernels/simd/target.h"

namespace steady::mla_avx512 {

constexpr int kHeads = 5;           // heads that share a pass over the rows
constexpr std::int64_t kTile = 32;  // positions per step of the online softmax: 72 KB at width 576
constexpr int kPositions = 4;       // positions scored together
constexpr int kVectors = 4;         // output registers per head and pass

// Whole registers only, of a cache that holds Value.
template <class Value = float>
bool supports(const MlaAttentionShape& shape) {
    return shape.cache == mla_cache::kType<Value> && shape.kv_rank % 16 == 0 &&
           (shape.kv_rank + shape.n_rot) % 16 == 0;
}

// The running softmax of one head.
struct Running {
    float largest = -INFINITY;
    float total = 0;
};

// What the loops fetch ahead of them, a line per turn: nothing, or the next tile into L2. Fetching
// it all at once would make the core wait for the lines just the same.
struct Nothing {
    void line() const {}
};
struct NextTile {
    const std::byte* at;
    const std::byte* end;
    void line() {
        if (at >= end) return;
        _mm_prefetch(reinterpret_cast<const char*>(at), _MM_HINT_T1);
        at += 64;
    }
};

KERNEL_TARGET_BEGIN(KERNEL_AVX512)

// Sixteen cached values as floats.
[[gnu::always_inline]] inline __m512 load(const float* at) { return _mm512_loadu_ps(at); }
[[gnu::always_inline]] inline __m512 load(const Half* at) {
    return avx512::halves(reinterpret_cast<const std::byte*>(at));
}
[[gnu::always_inline]] inline __m512 load(const Bfloat* at) {
    const __m256i upper = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at));
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(upper), 16));
}

// The sums of four registers' lanes, side by side: fewer shuffles than four sums one by one.
[[gnu::always_inline]] inline __m128 sum4(const __m512* v) {
    const __m512 ab = _mm512_add_ps(_mm512_unpacklo_ps(v[0], v[1]), _mm512_unpackhi_ps(v[0], v[1]));
    const __m512 cd = _mm512_add_ps(_mm512_unpacklo_ps(v[2], v[3]), _mm512_unpackhi_ps(v[2], v[3]));
    const __m512 low = _mm512_shuffle_ps(ab, cd, 0x44);
    const __m512 high = _mm512_shuffle_ps(ab, cd, 0xEE);
    const __m512 quads = _mm512_add_ps(low, high);  // a, b, c, d in each 128-bit part
    const __m256 halves =
        _mm256_add_ps(_mm512_castps512_ps256(quads), _mm512_extractf32x8_ps(quads, 1));
    return _mm_add_ps(_mm256_castps256_ps128(halves), _mm256_extractf128_ps(halves, 1));
}

// scores[h][p] of kN heads and kP positions: each chunk of q and of the rows is loaded once.
template <int kN, int kP, class Value, class Ahead>
[[gnu::always_inline]] inline void score_block(const float* q, const Value* rows,
                                               std::int64_t width, float scale, float* scores,
                                               Ahead& ahead) {
    __m512 sums[kN][kP];
    for (int h = 0; h < kN; ++h) {
        for (int p = 0; p < kP; ++p) sums[h][p] = _mm512_setzero_ps();
    }
    for (std::int64_t i = 0; i < width; i += 16) {
        ahead.line();
        __m512 row[kP];
        for (int p = 0; p < kP; ++p) row[p] = load(rows + p * width + i);
        for (int h = 0; h < kN; ++h) {
            const __m512 chunk = _mm512_loadu_ps(q + h * width + i);
            for (int p = 0; p < kP; ++p) sums[h][p] = _mm512_fmadd_ps(chunk, row[p], sums[h][p]);
        }
    }
    for (int h = 0; h < kN; ++h) {
        if constexpr (kP == 4) {
            const __m128 four = _mm_mul_ps(sum4(sums[h]), _mm_set1_ps(scale));
            _mm_storeu_ps(scores + h * kTile, four);
        } else {
            for (int p = 0; p < kP; ++p) scores[h * kTile + p] = scale * avx512::sum(sums[h][p]);
        }
    }
}

template <int kN, class Value, class Ahead>
void score_tile(const float* q, const Value* rows, std::int64_t n, std::int64_t width, float scale,
                float* scores, Ahead& ahead) {
    std::int64_t p = 0;
    for (; p + kPositions <= n; p += kPositions) {
        score_block<kN, kPositions>(q, rows + p * width, width, scale, scores + p, ahead);
    }
    for (; p < n; ++p) score_block<kN, 1>(q, rows + p * width, width, scale, scores + p, ahead);
}

// Turns the scores of a tile into weights relative to the new maximum; returns the factor by which
// everything accumulated before must shrink.
inline float to_weights(float* scores, std::int64_t n, Running& running) {
    const float before = running.largest;
    const __m512 lowest = _mm512_set1_ps(-INFINITY);
    __m512 largest = _mm512_set1_ps(before);
    for (std::int64_t i = 0; i < n; i += 16) {
        const auto mask = static_cast<__mmask16>(n - i >= 16 ? 0xFFFF : (1U << (n - i)) - 1);
        largest = _mm512_max_ps(largest, _mm512_mask_loadu_ps(lowest, mask, scores + i));
    }
    running.largest = _mm512_reduce_max_ps(largest);
    const __m512 top = _mm512_set1_ps(running.largest);
    __m512 sums = _mm512_setzero_ps();
    for (std::int64_t i = 0; i < n; i += 16) {
        const auto mask = static_cast<__mmask16>(n - i >= 16 ? 0xFFFF : (1U << (n - i)) - 1);
        const __m512 score = _mm512_maskz_loadu_ps(mask, scores + i);
        const __m512 weight = _mm512_maskz_mov_ps(mask, avx512::exp(_mm512_sub_ps(score, top)));
        sums = _mm512_add_ps(sums, weight);
        _mm512_storeu_ps(scores + i, weight);
    }
    const float shrink =
        before == -INFINITY
            ? 0.0F
            : _mm512_cvtss_f32(avx512::exp(_mm512_set1_ps(before - running.largest)));
    running.total = running.total * shrink + avx512::sum(sums);
    return shrink;
}

// out[h][i …] = out · shrink[h] + Σ_p weight[h][p] · rows[p][i …] for kV registers of columns.
template <int kN, int kV, class Value, class Ahead>
[[gnu::always_inline]] inline void add_columns(const float* weights, const Value* rows,
                                               std::int64_t n, std::int64_t width,
                                               const float* shrink, float* out,
                                               std::int64_t out_stride, Ahead& ahead) {
    __m512 sums[kN][kV];
    for (int h = 0; h < kN; ++h) {
        for (int v = 0; v < kV; ++v) {
            const __m512 old = _mm512_loadu_ps(out + h * out_stride + 16 * v);
            sums[h][v] = shrink[h] == 0 ? _mm512_setzero_ps()
                                        : _mm512_mul_ps(old, _mm512_set1_ps(shrink[h]));
        }
    }
    for (std::int64_t p = 0; p < n; ++p) {
        ahead.line();
        __m512 row[kV];
        for (int v = 0; v < kV; ++v) row[v] = load(rows + p * width + 16 * v);
        for (int h = 0; h < kN; ++h) {
            const __m512 weight = _mm512_set1_ps(weights[h * kTile + p]);
            for (int v = 0; v < kV; ++v) sums[h][v] = _mm512_fmadd_ps(weight, row[v], sums[h][v]);
        }
    }
    for (int h = 0; h < kN; ++h) {
        for (int v = 0; v < kV; ++v) {
            _mm512_storeu_ps(out + h * out_stride + 16 * v, sums[h][v]);
        }
    }
}

// The same for all kv_rank columns.
template <int kN, class Value, class Ahead>
void add_rows(const float* weights, const Value* rows, std::int64_t n, std::int64_t width,
              const float* shrink, float* out, std::int64_t kv_rank, Ahead& ahead) {
    std::int64_t i = 0;
    for (; i + 16 * kVectors <= kv_rank; i += 16 * kVectors) {
        add_columns<kN, kVectors>(weights, rows + i, n, width, shrink, out + i, kv_rank, ahead);
    }
    for (; i < kv_rank; i += 16) {
        add_columns<kN, 1>(weights, rows + i, n, width, shrink, out + i, kv_rank, ahead);
    }
}

// Adds n ≤ kTile positions to the unnormalised outputs out[kN][kv_rank] of kN neighbouring heads;
// q is that of the first.
template <int kN, class Value, class Ahead>
void attend_tile(const float* q, const Value* rows, std::int64_t n, const MlaAttentionShape& shape,
                 float scale, float* out, Running* running, Ahead& ahead) {
    const std::int64_t width = shape.kv_rank + shape.n_rot;
    alignas(64) float scores[kN * kTile];
    score_tile<kN>(q, rows, n, width, scale, scores, ahead);
    float shrink[kN];
    for (int h = 0; h < kN; ++h) shrink[h] = to_weights(scores + h * kTile, n, running[h]);
    add_rows<kN>(scores, rows, n, width, shrink, out, shape.kv_rank, ahead);
}

// What to fetch while the tile at position t is worked on.
template <class Ahead, class Value>
[[gnu::always_inline]] inline Ahead ahead_of(const MlaAttention::Args& args, std::int64_t t) {
    if constexpr (std::is_same_v<Ahead, Nothing>) {
        return {};
    } else {
        const std::int64_t row =
            (args.shape.kv_rank + args.shape.n_rot) * static_cast<std::int64_t>(sizeof(Value));
        const std::int64_t end = std::min(t + 2 * kTile, args.shape.n_positions);
        return {args.cache + (t + kTile) * row, args.cache + end * row};
    }
}

// attend_tile for positions [begin, end), one tile after the other.
template <int kN, class Ahead, class Value = float>
void attend_span(const MlaAttention::Args& args, std::int64_t head, std::int64_t begin,
                 std::int64_t end, float* out, Running* running) {
    const std::int64_t width = args.shape.kv_rank + args.shape.n_rot;
    for (std::int64_t t = begin; t < end; t += kTile) {
        auto ahead = ahead_of<Ahead, Value>(args, t);
        attend_tile<kN>(args.q + head * width, args.rows<Value>() + t * width,
                        std::min(kTile, end - t), args.shape, args.scale, out, running, ahead);
    }
}

// A head's outputs become the weighted mean of what was added to them.
inline void finish(const MlaAttention::Args& args, std::int64_t head, const Running& running) {
    args.keep_sums(head, running.largest, running.total);
    float* out = args.out + head * args.shape.kv_rank;
    const __m512 factor = _mm512_set1_ps(1.0F / running.total);
    for (std::int64_t i = 0; i < args.shape.kv_rank; i += 16) {
        _mm512_storeu_ps(out + i, _mm512_mul_ps(_mm512_loadu_ps(out + i), factor));
    }
}

// kN neighbouring heads over all positions.
template <int kN, class Ahead, class Value>
void attend(const MlaAttention::Args& args, std::int64_t head) {
    const MlaAttentionShape& shape = args.shape;
    float* out = args.out + head * shape.kv_rank;
    Running running[kN];
    attend_span<kN, Ahead, Value>(args, head, 0, shape.n_positions, out, running);
    for (int h = 0; h < kN; ++h) finish(args, head + h, running[h]);
}

// kMost: the most heads that share a pass over the rows.
template <class Ahead, int kMost = kHeads, class Value = float>
void run(const MlaAttention::Args& args, Range range) noexcept {
    std::int64_t head = range.begin;
    for (; kMost >= kHeads && head + kHeads <= range.end; head += kHeads) {
        attend<kHeads, Ahead, Value>(args, head);
    }
    for (; kMost >= 4 && head + 4 <= range.end; head += 4) attend<4, Ahead, Value>(args, head);
    for (; head < range.end; ++head) attend<1, Ahead, Value>(args, head);
}

KERNEL_TARGET_END

template <class Value = float>
VariantOptions<MlaAttention> options(MlaAttention::Run run_heads) {
    return {.needs = cpu::avx512, .supports = supports<Value>, .run = run_heads};
}

}  // namespace steady::mla_avx512
