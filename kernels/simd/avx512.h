// Small AVX-512 building blocks that several variants use: exponential, horizontal sum, conversion
// of half-precision scales. Always inlined into callers that have opened the same target region.
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "kernels/simd/target.h"

namespace steady::avx512 {

KERNEL_TARGET_BEGIN(KERNEL_AVX512)

// Four bytes, sixteen times.
[[gnu::always_inline]] inline __m512i broadcast4(const std::int8_t* at) {
    int four;
    std::memcpy(&four, at, 4);
    return _mm512_set1_epi32(four);
}

// Cephes' expf: relative error about one unit; underflows to zero, overflows to infinity.
[[gnu::always_inline]] inline __m512 exp(__m512 x) {
    const __m512 n = _mm512_roundscale_ps(_mm512_mul_ps(x, _mm512_set1_ps(1.44269504F)),
                                          _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    __m512 r = _mm512_fnmadd_ps(n, _mm512_set1_ps(0.693359375F), x);
    r = _mm512_fnmadd_ps(n, _mm512_set1_ps(-2.12194440E-4F), r);
    __m512 p = _mm512_set1_ps(1.9875691500E-4F);
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1.3981999507E-3F));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(8.3334519073E-3F));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(4.1665795894E-2F));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1.6666665459E-1F));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(5.0000001201E-1F));
    p = _mm512_fmadd_ps(p, _mm512_mul_ps(r, r), _mm512_add_ps(r, _mm512_set1_ps(1.0F)));
    return _mm512_scalef_ps(p, n);
}

// gate / (1 + e^-gate) * up, written with e^-|gate|, which cannot overflow: far out on the negative
// side the result is still a normal float when e^-gate no longer is.
[[gnu::always_inline]] inline __m512 swiglu(__m512 gate, __m512 up) {
    const __m512 e = exp(_mm512_sub_ps(_mm512_setzero_ps(), _mm512_abs_ps(gate)));
    const __mmask16 negative = _mm512_cmp_ps_mask(gate, _mm512_setzero_ps(), _CMP_LT_OQ);
    const __m512 top = _mm512_mask_mul_ps(gate, negative, gate, e);
    const __m512 silu = _mm512_div_ps(top, _mm512_add_ps(_mm512_set1_ps(1.0F), e));
    return _mm512_mul_ps(silu, up);
}

// Sum of the 16 lanes, always in the same order.
[[gnu::always_inline]] inline float sum(__m512 v) {
    const __m256 halves = _mm256_add_ps(_mm512_castps512_ps256(v), _mm512_extractf32x8_ps(v, 1));
    __m128 quarter = _mm_add_ps(_mm256_castps256_ps128(halves), _mm256_extractf128_ps(halves, 1));
    quarter = _mm_add_ps(quarter, _mm_movehl_ps(quarter, quarter));
    return _mm_cvtss_f32(_mm_add_ss(quarter, _mm_shuffle_ps(quarter, quarter, 1)));
}

// 16 half-precision numbers as floats.
[[gnu::always_inline]] inline __m512 halves(const std::byte* at) {
    return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(at)));
}

[[gnu::always_inline]] inline __m512i load(const void* at) { return _mm512_loadu_si512(at); }

// 1 / sqrt(mean(x²) + eps) in every lane: four partial sums of squares, the tail by mask.
[[gnu::always_inline]] inline __m512 inverse_rms(const float* x, std::int64_t n, float eps) {
    const std::int64_t whole = n / 16 * 16;
    const auto tail = static_cast<__mmask16>((1U << (n - whole)) - 1);
    __m512 sums[4] = {_mm512_setzero_ps(), _mm512_setzero_ps(), _mm512_setzero_ps(),
                      _mm512_setzero_ps()};
    for (std::int64_t i = 0; i < whole; i += 16) {
        const __m512 v = _mm512_loadu_ps(x + i);
        sums[i / 16 % 4] = _mm512_fmadd_ps(v, v, sums[i / 16 % 4]);
    }
    const __m512 last = _mm512_maskz_loadu_ps(tail, x + whole);
    sums[0] = _mm512_fmadd_ps(last, last, sums[0]);
    const float squares =
        sum(_mm512_add_ps(_mm512_add_ps(sums[0], sums[1]), _mm512_add_ps(sums[2], sums[3])));
    return _mm512_set1_ps(1.0F / __builtin_sqrtf(squares / static_cast<float>(n) + eps));
}

// Brings 32 values into the q8 form: what op quantize_q8 does to one block.
[[gnu::always_inline]] inline void quantize_block(__m512 low, __m512 high, std::int8_t* q8,
                                                  float* scale, std::int32_t* block_sum) {
    const __m512 largest = _mm512_max_ps(_mm512_abs_ps(low), _mm512_abs_ps(high));
    const float max = _mm512_reduce_max_ps(largest);
    *scale = max / 127.0F;
    const __m512 divisor = _mm512_set1_ps(max > 0 ? *scale : 1.0F);
    const __m512i a = _mm512_cvtps_epi32(_mm512_div_ps(low, divisor));
    const __m512i b = _mm512_cvtps_epi32(_mm512_div_ps(high, divisor));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(q8), _mm512_cvtsepi32_epi8(a));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(q8 + 16), _mm512_cvtsepi32_epi8(b));
    *block_sum = _mm512_reduce_add_epi32(_mm512_add_epi32(a, b));
}

KERNEL_TARGET_END

}  // namespace steady::avx512
