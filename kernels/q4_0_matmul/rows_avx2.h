// Tiles of vectors over the packed layouts of Q4_0 with AVX2, kLanes rows side by side: nibbles are
// taken apart once per tile. 8-bit or 16-bit activations.
#pragma once

#include "kernels/layouts/matmul_avx2.h"
#include "kernels/layouts/q4_0_rows16_avx2.h"
#include "kernels/layouts/q4_0_rows8.h"

namespace steady::q4_0_matmul_avx2 {

KERNEL_TARGET_BEGIN(KERNEL_AVX2)

template <Input kForm, int kLanes>
struct Dot {
    static constexpr Type kType = Type::q4_0;
    static constexpr Input kInput = kForm;
    static constexpr int kRows = kLanes;
    static constexpr int kMost = 4;
    static constexpr int kBytes = kForm == Input::q16 ? 2 : 1;  // of an activation

    template <int kN>
    static void run(const std::byte* rows, int first, const std::array<MatmulVector, kN>& x,
                    std::int64_t cols, __m256* y) {
        __m256 total[kN];
        for (int i = 0; i < kN; ++i) total[i] = _mm256_setzero_ps();
        for (std::int64_t b = 0; b < cols / 32; ++b) {
            const std::byte* block = rows + b * kLanes * 18;
            __m256i pairs[kN][kBytes];
            multiply<kN>(block + 2 * kLanes + 4 * first, x, 32 * b, pairs);
            const __m256 scales = avx2::halves(block + 2 * first);
            for (std::size_t i = 0; i < kN; ++i) {
                const float step = kBytes == 2 ? x[i].scale[b] / 256.0F : x[i].scale[b];
                // The quants are stored with 8 added.
                const __m256i exact =
                    _mm256_sub_epi32(joined(pairs[i]), _mm256_set1_epi32(8 * x[i].sum[b]));
                total[i] = _mm256_fmadd_ps(_mm256_cvtepi32_ps(exact),
                                           _mm256_mul_ps(scales, _mm256_set1_ps(step)), total[i]);
            }
        }
        for (int i = 0; i < kN; ++i) y[i] = total[i];
    }

private:
    // Sums of two products over a block of 32 columns from column `at` on, per vector and byte.
    template <int kN>
    [[gnu::always_inline]] static inline void multiply(const std::byte* quants,
                                                       const std::array<MatmulVector, kN>& x,
                                                       std::int64_t at,
                                                       __m256i (&pairs)[kN][kBytes]) {
        const __m256i nibble = _mm256_set1_epi8(15);
        for (auto& each : pairs) {
            for (__m256i& sum : each) sum = _mm256_setzero_si256();
        }
        for (int j = 0; j < 4; ++j) {
            const __m256i w = avx2::load(quants + 4 * kLanes * j);
            const __m256i even = _mm256_and_si256(w, nibble);
            const __m256i odd = _mm256_and_si256(_mm256_srli_epi16(w, 4), nibble);
            for (std::size_t i = 0; i < kN; ++i) {
                for (int k = 0; k < kBytes; ++k) {
                    const std::int8_t* bytes = (k == 0 ? x[i].q8 : x[i].low) + at + 4 * j;
                    pairs[i][k] =
                        avx2::add_byte_products(pairs[i][k], even, avx2::broadcast4(bytes));
                    pairs[i][k] =
                        avx2::add_byte_products(pairs[i][k], odd, avx2::broadcast4(bytes + 16));
                }
            }
        }
    }
    // One integer per row: 256 · high + low for two bytes.
    [[gnu::always_inline]] static inline __m256i joined(const __m256i* pairs) {
        if constexpr (kBytes == 1) return _mm256_madd_epi16(pairs[0], _mm256_set1_epi16(1));
        return avx2::join_bytes(pairs[0], pairs[kBytes - 1]);
    }
};

KERNEL_TARGET_END

}  // namespace steady::q4_0_matmul_avx2
