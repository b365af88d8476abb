// The softmax that runs along with a tiled attention, with AVX2.
#pragma once

#include <algorithm>
#include <cmath>

#include "kernels/simd/avx2.h"
#include "kernels/simd/target.h"

namespace steady::mla_avx2_softmax {

// What one head has seen so far.
struct Running {
    float largest = -INFINITY;
    float total = 0;
};

KERNEL_TARGET_BEGIN(KERNEL_AVX2)

// Of n values.
inline float largest(const float* values, std::int64_t n) {
    __m256 most = _mm256_set1_ps(-INFINITY);
    std::int64_t i = 0;
    for (; i + 8 <= n; i += 8) most = _mm256_max_ps(most, _mm256_loadu_ps(values + i));
    float found = avx2::largest(most);
    for (; i < n; ++i) found = std::max(found, values[i]);
    return found;
}

// Turns the n scores of a tile into weights relative to the new maximum, and what lies behind them
// up to a multiple of 8 into zeros; returns the factor by which everything accumulated before must
// shrink.
inline float to_weights(float* scores, std::int64_t n, Running& running) {
    const float before = running.largest;
    running.largest = std::max(before, largest(scores, n));
    const __m256 top = _mm256_set1_ps(running.largest);
    __m256 sums = _mm256_setzero_ps();
    for (std::int64_t i = 0; i < n; i += 8) {
        const __m256i mask = avx2::lanes(n - i);
        const __m256 below = _mm256_sub_ps(_mm256_maskload_ps(scores + i, mask), top);
        // Beyond the end the argument must not be positive; the result is masked away.
        const __m256 power = avx2::exp_negative(_mm256_min_ps(below, _mm256_setzero_ps()));
        // The minimum loses what is no number: it stays one in the weight.
        const __m256 none = _mm256_cmp_ps(below, below, _CMP_UNORD_Q);
        const __m256 weight = _mm256_and_ps(_mm256_or_ps(power, none), _mm256_castsi256_ps(mask));
        sums = _mm256_add_ps(sums, weight);
        _mm256_storeu_ps(scores + i, weight);
    }
    const __m256 fall = _mm256_set1_ps(before - running.largest);
    const float shrink = before == -INFINITY ? 0.0F : _mm256_cvtss_f32(avx2::exp_negative(fall));
    running.total = running.total * shrink + avx2::sum(sums);
    return shrink;
}

// out[n] becomes the weighted mean of what was added to it; n a multiple of 8.
inline void divide(float* out, std::int64_t n, const Running& running) {
    const __m256 factor = _mm256_set1_ps(1.0F / running.total);
    for (std::int64_t i = 0; i < n; i += 8) {
        _mm256_storeu_ps(out + i, _mm256_mul_ps(_mm256_loadu_ps(out + i), factor));
    }
}

KERNEL_TARGET_END

}  // namespace steady::mla_avx2_softmax
