// Tiles of vectors over the layout rows16 of Q5_K (kernels/q5_k_matvec/rows16.h): the five bits of
// a sub-block are put together once and meet each vector of the tile.
#pragma once

#include "kernels/layouts/matmul_rows16.h"
#include "kernels/q5_k_matvec/rows16.h"

namespace steady::q5_k_matmul {

KERNEL_TARGET_BEGIN(KERNEL_AVX512_VNNI)

// The quants of one sub-block of 32 columns: w[g] holds columns 4g … 4g + 3.
[[gnu::always_inline]] inline void decode(const std::byte* quants, __m512i (&w)[8]) {
    constexpr int kOrAnd = 0xF8;  // first | (second & third)
    const __m512i nibble = _mm512_set1_epi8(15);
    const __m512i bit4 = _mm512_set1_epi8(16);
    const __m512i fifth = avx512::load(quants);  // bit g moves to bit 4
    const __m512i shifted[8] = {_mm512_slli_epi16(fifth, 4),
                                _mm512_slli_epi16(fifth, 3),
                                _mm512_slli_epi16(fifth, 2),
                                _mm512_slli_epi16(fifth, 1),
                                fifth,
                                _mm512_srli_epi16(fifth, 1),
                                _mm512_srli_epi16(fifth, 2),
                                _mm512_srli_epi16(fifth, 3)};
    for (int pair = 0; pair < 4; ++pair) {
        const __m512i both = avx512::load(quants + 64 + 64 * pair);
        const __m512i low = _mm512_and_si512(both, nibble);
        const __m512i high = _mm512_and_si512(_mm512_srli_epi16(both, 4), nibble);
        w[2 * pair] = _mm512_ternarylogic_epi32(low, shifted[2 * pair], bit4, kOrAnd);
        w[2 * pair + 1] = _mm512_ternarylogic_epi32(high, shifted[2 * pair + 1], bit4, kOrAnd);
    }
}

struct Dot {
    static constexpr Type kType = Type::q5_k;
    static constexpr Input kInput = Input::q8;
    static constexpr int kMost = 4;

    template <int kN>
    [[gnu::always_inline]] static inline void run(const std::byte* rows,
                                                  const std::array<MatmulVector, kN>& x,
                                                  std::int64_t cols, __m512* y) {
        using q5_k_rows16::widen;
        alignas(64) std::uint8_t scales[128];
        alignas(64) std::uint8_t mins[128];
        __m512 total[kN];
        for (int i = 0; i < kN; ++i) total[i] = _mm512_setzero_ps();
        for (std::int64_t b = 0; b < cols / 256; ++b) {
            const std::byte* block = rows + b * q5_k_rows16::kBlockBytes;
            q5_k_rows16::decode_scales(block + q5_k_rows16::kPlanes, scales, mins);
            __m512 scaled[kN], taken[kN];
            for (int i = 0; i < kN; ++i) scaled[i] = taken[i] = _mm512_setzero_ps();
            for (int s = 0; s < 8; ++s) {
                const std::int64_t at = b * 8 + s;
                __m512i w[8];
                decode(block + q5_k_rows16::kQuants + 320 * s, w);
                const __m512i scale = widen(scales + 16 * s);
                const __m512 min = _mm512_cvtepi32_ps(widen(mins + 16 * s));
                for (std::size_t i = 0; i < kN; ++i) {
                    __m512i q = _mm512_setzero_si512();
                    for (int g = 0; g < 8; ++g) {
                        q = _mm512_dpbusd_epi32(q, w[g],
                                                avx512::broadcast4(x[i].q8 + at * 32 + 4 * g));
                    }
                    scaled[i] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(_mm512_mullo_epi32(q, scale)),
                                                _mm512_set1_ps(x[i].scale[at]), scaled[i]);
                    const float x_sum = x[i].scale[at] * static_cast<float>(x[i].sum[at]);
                    taken[i] = _mm512_fmadd_ps(min, _mm512_set1_ps(x_sum), taken[i]);
                }
            }
            for (int i = 0; i < kN; ++i) {
                total[i] = _mm512_fmadd_ps(avx512::halves(block), scaled[i], total[i]);
                total[i] = _mm512_fnmadd_ps(avx512::halves(block + 32), taken[i], total[i]);
            }
        }
        for (std::size_t i = 0; i < kN; ++i) y[i] = total[i];
    }
};

KERNEL_TARGET_END

}  // namespace steady::q5_k_matmul
