// Head by head in two passes over the cache: all scores and their softmax first, then the weighted
// sum. Expected: level with avx512_one_head while the cache fits, behind it at depth, where every
// row comes from memory twice.
#include "kernels/mla_attention/tiles_avx512.h"

namespace steady {

KERNEL_TARGET_BEGIN(KERNEL_AVX512)
namespace {

// Scores become weights e^(s - max), in place; returns the maximum and their sum. Nothing behind
// p[n) is touched.
mla_avx512::Running softmax(float* p, std::int64_t n) {
    __m512 largest = _mm512_set1_ps(-INFINITY);
    for (std::int64_t t = 0; t < n; t += 16) {
        const auto mask = static_cast<__mmask16>(n - t >= 16 ? 0xFFFF : (1U << (n - t)) - 1);
        largest = _mm512_mask_max_ps(largest, mask, largest, _mm512_maskz_loadu_ps(mask, p + t));
    }
    const __m512 top = _mm512_set1_ps(_mm512_reduce_max_ps(largest));
    __m512 sums = _mm512_setzero_ps();
    for (std::int64_t t = 0; t < n; t += 16) {
        const auto mask = static_cast<__mmask16>(n - t >= 16 ? 0xFFFF : (1U << (n - t)) - 1);
        const __m512 score = _mm512_maskz_loadu_ps(mask, p + t);
        const __m512 weight = _mm512_maskz_mov_ps(mask, avx512::exp(_mm512_sub_ps(score, top)));
        sums = _mm512_add_ps(sums, weight);
        _mm512_mask_storeu_ps(p + t, mask, weight);
    }
    return {_mm512_cvtss_f32(top), avx512::sum(sums)};
}

void run(const MlaAttention::Args& args, Range range) noexcept {
    const MlaAttentionShape& shape = args.shape;
    const std::int64_t width = shape.kv_rank + shape.n_rot;
    const std::int64_t n = shape.n_positions;
    const float no_outputs = 0;  // what the outputs hold yet counts so much
    mla_avx512::Nothing ahead;
    for (std::int64_t h = range.begin; h < range.end; ++h) {
        float* p = args.scratch + h * n;
        float* out = args.out + h * shape.kv_rank;
        mla_avx512::score_tile<1>(args.q + h * width, args.rows<float>(), n, width, args.scale, p,
                                  ahead);
        const mla_avx512::Running running = softmax(p, n);
        mla_avx512::add_rows<1>(p, args.rows<float>(), n, width, &no_outputs, out, shape.kv_rank,
                                ahead);
        mla_avx512::finish(args, h, running);
    }
}

}  // namespace
KERNEL_TARGET_END

static const Variant<MlaAttention> variant{"avx512_two_pass", mla_avx512::options(run)};

}  // namespace steady
