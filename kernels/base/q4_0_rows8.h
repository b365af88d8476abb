// The layout "rows8" of Q4_0: eight rows side by side (q4_0_interleave.h), one per lane of a
// 256-bit register. What rows16 is to AVX-512, this is to AVX2.
#pragma once

#include <cstring>

#include "kernels/base/activation.h"
#include "kernels/base/avx2.h"
#include "kernels/base/q4_0_interleave.h"
#include "kernels/base/target.h"

namespace steady::q4_0_rows8 {

constexpr std::int64_t kRows = 8;
constexpr std::int64_t kBlockBytes = kRows * sizeof(BlockQ4_0);

inline void pack(MatrixShape shape, const std::byte* src, std::byte* dst) {
    interleave_q4_0(shape, kRows, src, dst);
}

// What every variant on this layout registers; the rest is its own.
template <class Op>
VariantOptions<Op> options(cpu::Features needs, std::int64_t granule,
                           bool (*supports)(const typename Op::Shape&), typename Op::Run run) {
    return {.needs = needs,
            .supports = supports,
            .granule = granule,
            .input = Input::q8,
            .layout = "rows8",
            .pack_rows = kRows,
            .packed_bytes = interleaved_q4_0_bytes,
            .pack = pack,
            .run = run};
}

KERNEL_TARGET_BEGIN(KERNEL_AVX2)

// The scales of eight rows' blocks times that of x.
[[gnu::always_inline]] inline __m256 factors(const std::byte* block, float x_scale) {
    const __m128i halves = _mm_loadu_si128(reinterpret_cast<const __m128i*>(block));
    return _mm256_mul_ps(_mm256_cvtph_ps(halves), _mm256_set1_ps(x_scale));
}

// The dot products of 8 packed rows with blocks [first, first + n_blocks) of x, one per lane. Eight
// sums of two products (at most 2 · 15 · 127 each) fit sixteen bits, so a block widens only once.
[[gnu::always_inline]] inline __m256 dot(const std::byte* rows, const Activation& x,
                                         std::int64_t first, std::int64_t n_blocks) {
    const __m256i nibble = _mm256_set1_epi8(15);
    __m256 total = _mm256_setzero_ps();
    for (std::int64_t b = 0; b < n_blocks; ++b) {
        const std::byte* block = rows + b * kBlockBytes;
        const std::int8_t* q8 = x.q8 + 32 * (first + b);
        __m256i pairs = _mm256_setzero_si256();
        for (int j = 0; j < 4; ++j) {
            const __m256i w = avx2::load(block + 16 + 32 * j);
            int four[2];
            std::memcpy(&four[0], q8 + 4 * j, 4);
            std::memcpy(&four[1], q8 + 16 + 4 * j, 4);
            const __m256i low =
                _mm256_maddubs_epi16(_mm256_and_si256(w, nibble), _mm256_set1_epi32(four[0]));
            const __m256i high = _mm256_maddubs_epi16(
                _mm256_and_si256(_mm256_srli_epi16(w, 4), nibble), _mm256_set1_epi32(four[1]));
            pairs = _mm256_add_epi16(pairs, _mm256_add_epi16(low, high));
        }
        const __m256i sums = _mm256_madd_epi16(pairs, _mm256_set1_epi16(1));
        const __m256i exact = _mm256_sub_epi32(sums, _mm256_set1_epi32(8 * x.q8_sum[first + b]));
        total = _mm256_fmadd_ps(_mm256_cvtepi32_ps(exact), factors(block, x.q8_scale[first + b]),
                                total);
    }
    return total;
}

KERNEL_TARGET_END

}  // namespace steady::q4_0_rows8
