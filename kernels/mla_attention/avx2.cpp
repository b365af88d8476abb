// Head by head in three passes with AVX2: scores into scratch, softmax, weighted sum.
// Expected: the choice without AVX-512; each head reads the cache again.
#include "kernels/base/avx2.h"

#include <algorithm>
#include <cmath>

#include "kernels/base/target.h"
#include "kernels/mla_attention/op.h"

namespace steady {

KERNEL_TARGET_BEGIN(KERNEL_AVX2)
namespace {

// Scores become weights e^(s - max); returns their sum.
float to_weights(float* p, std::int64_t n) {
    const float largest = *std::max_element(p, p + n);
    __m256 sums = _mm256_setzero_ps();
    for (std::int64_t t = 0; t < n; t += 8) {
        const __m256i mask = avx2::lanes(n - t);
        const __m256 score =
            _mm256_sub_ps(_mm256_maskload_ps(p + t, mask), _mm256_set1_ps(largest));
        // Beyond the end the argument must not be positive; the result is masked away.
        const __m256 bounded = _mm256_min_ps(score, _mm256_setzero_ps());
        const __m256 weight = _mm256_and_ps(avx2::exp_negative(bounded), _mm256_castsi256_ps(mask));
        sums = _mm256_add_ps(sums, weight);
        _mm256_maskstore_ps(p + t, mask, weight);
    }
    return avx2::sum(sums);
}

void run(const MlaAttention::Args& args, Range range) noexcept {
    const MlaAttentionShape& shape = args.shape;
    const std::int64_t width = shape.kv_rank + shape.n_rot;
    for (std::int64_t h = range.begin; h < range.end; ++h) {
        float* p = args.scratch + h * shape.n_positions;
        for (std::int64_t t = 0; t < shape.n_positions; ++t) {
            p[t] = args.scale * avx2::dot(args.q + h * width, args.cache + t * width, width);
        }
        const __m256 factor = _mm256_set1_ps(1.0F / to_weights(p, shape.n_positions));
        for (std::int64_t i = 0; i < shape.kv_rank; i += 8) {
            const __m256i mask = avx2::lanes(shape.kv_rank - i);
            __m256 sum = _mm256_setzero_ps();
            for (std::int64_t t = 0; t < shape.n_positions; ++t) {
                const __m256 row = _mm256_maskload_ps(args.cache + t * width + i, mask);
                sum = _mm256_fmadd_ps(_mm256_set1_ps(p[t]), row, sum);
            }
            _mm256_maskstore_ps(args.out + h * shape.kv_rank + i, mask, _mm256_mul_ps(sum, factor));
        }
    }
}

}  // namespace
KERNEL_TARGET_END

static const Variant<MlaAttention> variant{"avx2", {.needs = cpu::avx2, .run = run}};

}  // namespace steady
