// Sums of every sixteen int8 activations. Q6_K scales sixteen values at a time, while the q8 form
// carries sums of 32; the kernels make the finer sums once per call.
#pragma once

#include "kernels/simd/avx512.h"

namespace steady::sums16 {

constexpr std::int64_t kMaxCols = 16384;  // the sums live on the stack

KERNEL_TARGET_BEGIN(KERNEL_AVX512_VNNI)

// out[i] = factor · Σ q8[16 i … 16 i + 16), for n values (a multiple of 64).
[[gnu::always_inline]] inline void fill(const std::int8_t* q8, std::int64_t n, int factor,
                                        std::int32_t* out) {
    const __m512i ones = _mm512_set1_epi8(1);
    for (std::int64_t i = 0; i < n; i += 64) {
        // Four int32 per sixteen values, then their sum in each of the four lanes.
        __m512i sums = _mm512_dpbusd_epi32(_mm512_setzero_si512(), ones, avx512::load(q8 + i));
        sums = _mm512_add_epi32(sums, _mm512_shuffle_epi32(sums, _MM_PERM_CDAB));
        sums = _mm512_add_epi32(sums, _mm512_shuffle_epi32(sums, _MM_PERM_BADC));
        const __m128i four = _mm512_castsi512_si128(_mm512_maskz_compress_epi32(0x1111, sums));
        const __m128i scaled = _mm_mullo_epi32(four, _mm_set1_epi32(factor));
        _mm_storeu_si128(reinterpret_cast<__m128i*>(out + i / 16), scaled);
    }
}

KERNEL_TARGET_END

}  // namespace steady::sums16
