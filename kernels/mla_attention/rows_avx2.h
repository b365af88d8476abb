// Attention over the latent cache with AVX2, head by head in three passes: scores into scratch,
// softmax, weighted sum.
#pragma once

#include <algorithm>
#include <cmath>

#include "kernels/mla_attention/op.h"
#include "kernels/simd/avx2.h"
#include "kernels/simd/target.h"

namespace steady::mla_avx2 {

KERNEL_TARGET_BEGIN(KERNEL_AVX2)

// Eight cached values as floats, zeros for those from `left` on, which are not read.
[[gnu::always_inline]] inline __m256 load(const float* at, std::int64_t left) {
    return _mm256_maskload_ps(at, avx2::lanes(left));
}
template <class Value>
[[gnu::always_inline]] inline __m256 load(const Value* at, std::int64_t left) {
    __m128i bits = _mm_setzero_si128();
    const std::int64_t n = std::min<std::int64_t>(left, 8);
    std::memcpy(&bits, at, static_cast<std::size_t>(n) * sizeof(Value));
    if constexpr (std::is_same_v<Value, Half>) return _mm256_cvtph_ps(bits);
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(bits), 16));
}

[[gnu::always_inline]] inline float dot(const float* q, const float* row, std::int64_t n) {
    return avx2::dot(q, row, n);
}
template <class Value>
[[gnu::always_inline]] inline float dot(const float* q, const Value* row, std::int64_t n) {
    __m256 sums[2] = {_mm256_setzero_ps(), _mm256_setzero_ps()};
    for (std::int64_t i = 0; i < n; i += 8) {
        sums[i / 8 % 2] =
            _mm256_fmadd_ps(load(q + i, n - i), load(row + i, n - i), sums[i / 8 % 2]);
    }
    return avx2::sum(_mm256_add_ps(sums[0], sums[1]));
}

// Scores become weights e^(s - largest); returns their sum.
inline float to_weights(float* p, std::int64_t n, float largest) {
    __m256 sums = _mm256_setzero_ps();
    for (std::int64_t t = 0; t < n; t += 8) {
        const __m256i mask = avx2::lanes(n - t);
        const __m256 score =
            _mm256_sub_ps(_mm256_maskload_ps(p + t, mask), _mm256_set1_ps(largest));
        // Beyond the end the argument must not be positive; the result is masked away.
        const __m256 bounded = _mm256_min_ps(score, _mm256_setzero_ps());
        const __m256 weight = _mm256_and_ps(avx2::exp_negative(bounded), _mm256_castsi256_ps(mask));
        sums = _mm256_add_ps(sums, weight);
        avx2::store(p + t, weight, n - t);
    }
    return avx2::sum(sums);
}

template <class Value>
void run(const MlaAttention::Args& args, Range range) noexcept {
    const MlaAttentionShape& shape = args.shape;
    const std::int64_t width = shape.kv_rank + shape.n_rot;
    const Value* cache = args.rows<Value>();
    for (std::int64_t h = range.begin; h < range.end; ++h) {
        float* p = args.scratch + h * shape.n_positions;
        for (std::int64_t t = 0; t < shape.n_positions; ++t) {
            p[t] = args.scale * dot(args.q + h * width, cache + t * width, width);
        }
        const float largest = *std::max_element(p, p + shape.n_positions);
        const float total = to_weights(p, shape.n_positions, largest);
        args.keep_sums(h, largest, total);
        const __m256 factor = _mm256_set1_ps(1.0F / total);
        for (std::int64_t i = 0; i < shape.kv_rank; i += 8) {
            __m256 sum = _mm256_setzero_ps();
            for (std::int64_t t = 0; t < shape.n_positions; ++t) {
                const __m256 row = load(cache + t * width + i, shape.kv_rank - i);
                sum = _mm256_fmadd_ps(_mm256_set1_ps(p[t]), row, sum);
            }
            avx2::store(args.out + h * shape.kv_rank + i, _mm256_mul_ps(sum, factor),
                        shape.kv_rank - i);
        }
    }
}

KERNEL_TARGET_END

template <class Value>
VariantOptions<MlaAttention> options() {
    return {
        .needs = cpu::avx2,
        .supports =
            [](const MlaAttentionShape& shape) { return shape.cache == mla_cache::kType<Value>; },
        .run = run<Value>};
}

}  // namespace steady::mla_avx2
