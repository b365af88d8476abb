// Tiles of vectors over the layout rows16 of Q8_0 (kernels/q8_0_matvec/rows16.h).
#pragma once

#include "kernels/layouts/matmul_rows16.h"
#include "kernels/q8_0_matvec/rows16.h"

namespace steady::q8_0_matmul {

KERNEL_TARGET_BEGIN(KERNEL_AVX512_VNNI)

struct Dot {
    static constexpr Type kType = Type::q8_0;
    static constexpr Input kInput = Input::q8;
    static constexpr int kMost = 8;

    template <int kN>
    [[gnu::always_inline]] static inline void run(const std::byte* rows,
                                                  const std::array<MatmulVector, kN>& x,
                                                  std::int64_t cols, __m512* y) {
        __m512 total[kN];
        for (int i = 0; i < kN; ++i) total[i] = _mm512_setzero_ps();
        for (std::int64_t b = 0; b < cols / 32; ++b) {
            const std::byte* block = rows + b * q8_0_rows16::kBlockBytes;
            __m512i sum[kN];
            for (std::size_t i = 0; i < kN; ++i) sum[i] = _mm512_set1_epi32(-128 * x[i].sum[b]);
            for (int j = 0; j < 8; ++j) {
                const __m512i w = avx512::load(block + 32 + 64 * j);
                for (std::size_t i = 0; i < kN; ++i) {
                    sum[i] = _mm512_dpbusd_epi32(sum[i], w,
                                                 avx512::broadcast4(x[i].q8 + 32 * b + 4 * j));
                }
            }
            const __m512 d = avx512::halves(block);
            for (std::size_t i = 0; i < kN; ++i) {
                total[i] =
                    _mm512_fmadd_ps(_mm512_cvtepi32_ps(sum[i]),
                                    _mm512_mul_ps(d, _mm512_set1_ps(x[i].scale[b])), total[i]);
            }
        }
        for (std::size_t i = 0; i < kN; ++i) y[i] = total[i];
    }
};

KERNEL_TARGET_END

}  // namespace steady::q8_0_matmul
