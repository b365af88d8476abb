// The layout "rows16" of Q4_0 (q4_0_rows16.h) with AVX2: two registers of eight rows, so that each
// broadcast of x serves sixteen rows and the weights are still one stream.
#pragma once

#include "kernels/layouts/q4_0_rows16.h"
#include "kernels/simd/avx2.h"

namespace steady::q4_0_rows16_avx2 {

using q4_0_rows16::kBlockBytes;

KERNEL_TARGET_BEGIN(KERNEL_AVX2)

// 16-bit activations. kAhead: bytes of weights fetched ahead by software, 0 for none.
template <int kAhead = 0>
struct SixteenBit {
    static constexpr std::int64_t kRows = q4_0_rows16::kRows;

    template <class Op>
    static VariantOptions<Op> options(std::int64_t granule,
                                      bool (*supports)(const typename Op::Shape&),
                                      typename Op::Run run) {
        return q4_0_rows16::options<Op>(cpu::avx2, Input::q16, granule, supports, run);
    }

    // y[0], y[1]: the dot products of 16 packed rows with blocks [first, first + n_blocks) of x.
    [[gnu::always_inline]] static void dot(const std::byte* rows, const Activation& x,
                                           std::int64_t first, std::int64_t n_blocks, __m256* y) {
        __m256 total[2] = {_mm256_setzero_ps(), _mm256_setzero_ps()};
        for (std::int64_t b = first; b < first + n_blocks; ++b, rows += kBlockBytes) {
            fetch<kAhead, 5>(rows);
            __m256i high[2];
            __m256i low[2];
            multiply(rows, x.q8 + 32 * b, x.q8_low + 32 * b, high, low);
            const __m256 step = _mm256_set1_ps(x.q8_scale[b] / 256.0F);
            // The quants are stored with 8 added.
            const __m256i eights = _mm256_set1_epi32(8 * x.q16_sum[b]);
            for (int i = 0; i < 2; ++i) {
                const __m256i exact = _mm256_sub_epi32(avx2::join_bytes(high[i], low[i]), eights);
                const __m256 factors = _mm256_mul_ps(avx2::halves(rows + 16 * i), step);
                total[i] = _mm256_fmadd_ps(_mm256_cvtepi32_ps(exact), factors, total[i]);
            }
        }
        y[0] = total[0];
        y[1] = total[1];
    }
    [[gnu::always_inline]] static void quantize(const float* x, std::int8_t* q8, std::int8_t* low,
                                                float* scale, std::int32_t* sum16) {
        avx2::quantize_block16(x, q8, low, scale, sum16);
    }

private:
    // Sums of two products with the activations' first and second bytes: eight of them, at most
    // 2 · 15 · 128 each, fit sixteen bits.
    [[gnu::always_inline]] static void multiply(const std::byte* block, const std::int8_t* x_high,
                                                const std::int8_t* x_low, __m256i* high,
                                                __m256i* low) {
        const __m256i nibble = _mm256_set1_epi8(15);
        for (int i = 0; i < 2; ++i) high[i] = low[i] = _mm256_setzero_si256();
        for (int j = 0; j < 4; ++j) {
            __m256i w[2][2];  // columns 4 j … and 16 + 4 j … of either eight rows
            for (int i = 0; i < 2; ++i) {
                const __m256i packed = avx2::load(block + 32 + 64 * j + 32 * i);
                w[0][i] = _mm256_and_si256(packed, nibble);
                w[1][i] = _mm256_and_si256(_mm256_srli_epi16(packed, 4), nibble);
            }
            for (int half = 0; half < 2; ++half) {
                const std::int64_t at = 16 * half + 4 * j;
                const __m256i four_high = avx2::broadcast4(x_high + at);
                const __m256i four_low = avx2::broadcast4(x_low + at);
                for (int i = 0; i < 2; ++i) {
                    high[i] = avx2::add_byte_products(high[i], w[half][i], four_high);
                    low[i] = avx2::add_byte_products(low[i], w[half][i], four_low);
                }
            }
        }
    }
};

KERNEL_TARGET_END

}  // namespace steady::q4_0_rows16_avx2
