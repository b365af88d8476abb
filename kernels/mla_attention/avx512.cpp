// Five heads share each key row: a tile of positions is scored for all of them while it is in the
// cache, then added to their outputs with an online softmax, so the latent rows are read once.
// Expected: bound by multiply-adds instead of memory or libm; far ahead of the reference at depth.
#include "kernels/base/avx512.h"

#include <algorithm>
#include <cmath>

#include "kernels/base/target.h"
#include "kernels/mla_attention/op.h"

namespace steady {
namespace {

constexpr int kHeads = 5;           // heads that share a pass over the rows
constexpr std::int64_t kTile = 32;  // positions per step of the online softmax: 72 KB at width 576
constexpr int kPositions = 4;       // positions scored together
constexpr int kVectors = 4;         // output registers per head and pass

// The running softmax of one head.
struct Running {
    float largest = -INFINITY;
    float total = 0;
};

}  // namespace

KERNEL_TARGET_BEGIN(KERNEL_AVX512)
namespace {

// scores[h][p] of kN heads and kP positions: each chunk of q and of the rows is loaded once.
template <int kN, int kP>
[[gnu::always_inline]] inline void score_block(const float* q, const float* rows,
                                               std::int64_t width, float scale, float* scores) {
    __m512 sums[kN][kP];
    for (int h = 0; h < kN; ++h) {
        for (int p = 0; p < kP; ++p) sums[h][p] = _mm512_setzero_ps();
    }
    for (std::int64_t i = 0; i < width; i += 16) {
        __m512 row[kP];
        for (int p = 0; p < kP; ++p) row[p] = _mm512_loadu_ps(rows + p * width + i);
        for (int h = 0; h < kN; ++h) {
            const __m512 chunk = _mm512_loadu_ps(q + h * width + i);
            for (int p = 0; p < kP; ++p) sums[h][p] = _mm512_fmadd_ps(chunk, row[p], sums[h][p]);
        }
    }
    for (int h = 0; h < kN; ++h) {
        for (int p = 0; p < kP; ++p) scores[h * kTile + p] = scale * avx512::sum(sums[h][p]);
    }
}

template <int kN>
void score_tile(const float* q, const float* rows, std::int64_t n, std::int64_t width, float scale,
                float* scores) {
    std::int64_t p = 0;
    for (; p + kPositions <= n; p += kPositions) {
        score_block<kN, kPositions>(q, rows + p * width, width, scale, scores + p);
    }
    for (; p < n; ++p) score_block<kN, 1>(q, rows + p * width, width, scale, scores + p);
}

// Turns the scores of a tile into weights relative to the new maximum; returns the factor by which
// everything accumulated before must shrink.
float to_weights(float* scores, std::int64_t n, Running& running) {
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
template <int kN, int kV>
[[gnu::always_inline]] inline void add_columns(const float* weights, const float* rows,
                                               std::int64_t n, std::int64_t width,
                                               const float* shrink, float* out,
                                               std::int64_t out_stride) {
    __m512 sums[kN][kV];
    for (int h = 0; h < kN; ++h) {
        for (int v = 0; v < kV; ++v) {
            const __m512 old = _mm512_loadu_ps(out + h * out_stride + 16 * v);
            sums[h][v] = shrink[h] == 0 ? _mm512_setzero_ps()
                                        : _mm512_mul_ps(old, _mm512_set1_ps(shrink[h]));
        }
    }
    for (std::int64_t p = 0; p < n; ++p) {
        __m512 row[kV];
        for (int v = 0; v < kV; ++v) row[v] = _mm512_loadu_ps(rows + p * width + 16 * v);
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

// kN neighbouring heads over all positions.
template <int kN>
void attend(const MlaAttention::Args& args, std::int64_t head) {
    const MlaAttentionShape& shape = args.shape;
    const std::int64_t width = shape.kv_rank + shape.n_rot;
    alignas(64) float scores[kN * kTile];
    float* out = args.out + head * shape.kv_rank;
    Running running[kN];
    for (std::int64_t t = 0; t < shape.n_positions; t += kTile) {
        const std::int64_t n = std::min(kTile, shape.n_positions - t);
        const float* rows = args.cache + t * width;
        score_tile<kN>(args.q + head * width, rows, n, width, args.scale, scores);
        float shrink[kN];
        for (int h = 0; h < kN; ++h) shrink[h] = to_weights(scores + h * kTile, n, running[h]);
        std::int64_t i = 0;
        for (; i + 16 * kVectors <= shape.kv_rank; i += 16 * kVectors) {
            add_columns<kN, kVectors>(scores, rows + i, n, width, shrink, out + i, shape.kv_rank);
        }
        for (; i < shape.kv_rank; i += 16) {
            add_columns<kN, 1>(scores, rows + i, n, width, shrink, out + i, shape.kv_rank);
        }
    }
    for (int h = 0; h < kN; ++h) {
        const __m512 factor = _mm512_set1_ps(1.0F / running[h].total);
        for (std::int64_t i = 0; i < shape.kv_rank; i += 16) {
            float* at = out + h * shape.kv_rank + i;
            _mm512_storeu_ps(at, _mm512_mul_ps(_mm512_loadu_ps(at), factor));
        }
    }
}

void run(const MlaAttention::Args& args, Range range) noexcept {
    std::int64_t head = range.begin;
    for (; head + kHeads <= range.end; head += kHeads) attend<kHeads>(args, head);
    for (; head + 4 <= range.end; head += 4) attend<4>(args, head);
    for (; head < range.end; ++head) attend<1>(args, head);
}

}  // namespace
KERNEL_TARGET_END

static const Variant<MlaAttention> variant{
    "avx512",
    {
        .needs = cpu::avx512,
        .supports =
            [](const MlaAttentionShape& shape) {
                return shape.kv_rank % 16 == 0 && (shape.kv_rank + shape.n_rot) % 16 == 0;
            },
        .run = run,
    }};

}  // namespace steady
