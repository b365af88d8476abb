// The 16-bit form of a block of activations, made in registers: the q8 form of the same block and,
// per value, a second byte that counts the rest in steps of a 256th.
#pragma once

#include "kernels/simd/avx512.h"

namespace steady::q16 {

KERNEL_TARGET_BEGIN(KERNEL_AVX512)

// Brings 32 values into the q16 form: what op quantize_q16 does to one block.
[[gnu::always_inline]] inline void quantize_block(__m512 first, __m512 second, std::int8_t* q8,
                                                  std::int8_t* low, float* scale,
                                                  std::int32_t* sum16) {
    const float max =
        _mm512_reduce_max_ps(_mm512_max_ps(_mm512_abs_ps(first), _mm512_abs_ps(second)));
    *scale = max / 127.0F;
    const __m512 divisor = _mm512_set1_ps(max > 0 ? *scale : 1.0F);
    const __m512 steps = _mm512_set1_ps(256.0F);
    __m512i all = _mm512_setzero_si512();
    for (int half = 0; half < 2; ++half) {
        const __m512 x = _mm512_div_ps(half == 0 ? first : second, divisor);
        const __m512i high = _mm512_cvtps_epi32(x);
        const __m512 rest = _mm512_sub_ps(x, _mm512_cvtepi32_ps(high));
        const __m128i rest8 = _mm512_cvtsepi32_epi8(_mm512_cvtps_epi32(_mm512_mul_ps(rest, steps)));
        _mm_storeu_si128(reinterpret_cast<__m128i*>(q8 + 16 * half), _mm512_cvtsepi32_epi8(high));
        _mm_storeu_si128(reinterpret_cast<__m128i*>(low + 16 * half), rest8);
        const __m512i both =
            _mm512_add_epi32(_mm512_slli_epi32(high, 8), _mm512_cvtepi8_epi32(rest8));
        all = _mm512_add_epi32(all, both);
    }
    *sum16 = _mm512_reduce_add_epi32(all);
}

KERNEL_TARGET_END

}  // namespace steady::q16
