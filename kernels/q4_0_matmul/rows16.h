// Tiles of vectors over the layout rows16 of Q4_0 (kernels/layouts/q4_0_rows16.h), with 8-bit or
// 16-bit activations.
#pragma once

#include "kernels/layouts/matmul_rows16.h"
#include "kernels/layouts/q4_0_rows16.h"

namespace steady::q4_0_matmul {

KERNEL_TARGET_BEGIN(KERNEL_AVX512_VNNI)

// kAhead: bytes of weights fetched ahead by software, 0 for none.
template <Input kForm, int kTile, int kAhead = 0>
struct Dot {
    static constexpr Type kType = Type::q4_0;
    static constexpr Input kInput = kForm;
    static constexpr int kMost = kTile;

    template <int kN>
    [[gnu::always_inline]] static inline void run(const std::byte* rows,
                                                  const std::array<MatmulVector, kN>& x,
                                                  std::int64_t cols, __m512* y) {
        constexpr bool kTwoBytes = kForm == Input::q16;
        const __m512i nibble = _mm512_set1_epi8(15);
        const __m512i minus_eight = _mm512_set1_epi32(0xFFF8);  // in 16 bits, and nothing above
        __m512 total[kN];
        for (int i = 0; i < kN; ++i) total[i] = _mm512_setzero_ps();
        for (std::int64_t b = 0; b < cols / 32; ++b) {
            const std::byte* block = rows + b * q4_0_rows16::kBlockBytes;
            fetch<kAhead, 5>(block);
            __m512i high[kN], low[kN];
            for (std::size_t i = 0; i < kN; ++i) {
                high[i] = low[i] = _mm512_setzero_si512();
                if constexpr (kTwoBytes) continue;
                // The quants are stored with 8 added. A block's sum of bytes fits 16 bits.
                high[i] = _mm512_dpwssd_epi32(high[i], minus_eight, _mm512_set1_epi32(x[i].sum[b]));
            }
            for (int j = 0; j < 4; ++j) {
                const __m512i w = avx512::load(block + 32 + 64 * j);
                const __m512i even = _mm512_and_si512(w, nibble);
                const __m512i odd = _mm512_and_si512(_mm512_srli_epi16(w, 4), nibble);
                const std::int64_t at = 32 * b + 4 * j;
                for (std::size_t i = 0; i < kN; ++i) {
                    using avx512::broadcast4;
                    high[i] = _mm512_dpbusd_epi32(high[i], even, broadcast4(x[i].q8 + at));
                    high[i] = _mm512_dpbusd_epi32(high[i], odd, broadcast4(x[i].q8 + at + 16));
                    if constexpr (kTwoBytes) {
                        low[i] = _mm512_dpbusd_epi32(low[i], even, broadcast4(x[i].low + at));
                        low[i] = _mm512_dpbusd_epi32(low[i], odd, broadcast4(x[i].low + at + 16));
                    }
                }
            }
            const __m512 d = avx512::halves(block);
            for (std::size_t i = 0; i < kN; ++i) {
                if constexpr (kTwoBytes) {
                    high[i] = _mm512_add_epi32(_mm512_slli_epi32(high[i], 8), low[i]);
                    high[i] = _mm512_sub_epi32(high[i], _mm512_set1_epi32(8 * x[i].sum[b]));
                }
                const float step = kTwoBytes ? x[i].scale[b] / 256.0F : x[i].scale[b];
                total[i] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(high[i]),
                                           _mm512_mul_ps(d, _mm512_set1_ps(step)), total[i]);
            }
        }
        for (std::size_t i = 0; i < kN; ++i) y[i] = total[i];
    }
};

KERNEL_TARGET_END

}  // namespace steady::q4_0_matmul
