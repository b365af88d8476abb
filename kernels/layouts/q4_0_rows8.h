// The layout "rows8" of Q4_0: eight rows side by side (q4_0_interleave.h), one per lane of a
// 256-bit register. What rows16 is to AVX-512, this is to AVX2.
#pragma once

#include <cstring>

#include "kernels/layouts/q4_0_interleave.h"
#include "kernels/registry/activation.h"
#include "kernels/registry/registry.h"
#include "kernels/simd/avx2.h"
#include "kernels/simd/prefetch.h"
#include "kernels/simd/target.h"

namespace steady::q4_0_rows8 {

constexpr std::int64_t kRows = 8;
constexpr std::int64_t kBlockBytes = kRows * sizeof(BlockQ4_0);

constexpr auto pack = pack_q4_0<kRows>;

// What every variant on this layout registers; the rest is its own.
template <class Op>
VariantOptions<Op> options(cpu::Features needs, Input input, std::int64_t granule,
                           bool (*supports)(const typename Op::Shape&), typename Op::Run run) {
    return packed_options<Op, kRows, Type::q4_0>(needs, input, pack, supports, run, granule);
}

KERNEL_TARGET_BEGIN(KERNEL_AVX2)

// How eight rows of one block of 32 columns meet block b of x: the exact integer sums (the 8 that
// is added to each stored quant taken off) and the factor that turns them into floats. Eight sums
// of two products (at most 2 · 15 · 128 each) fit sixteen bits, so a block widens once.

// 8-bit activations. kAhead: bytes of weights fetched ahead by software, 0 for none.
template <int kAhead = 0>
struct EightBitBlock {
    static constexpr Input input = Input::q8;

    [[gnu::always_inline]] static __m256i sums(const std::byte* block, const Activation& x,
                                               std::int64_t b) {
        const __m256i nibble = _mm256_set1_epi8(15);
        const std::int8_t* q8 = x.q8 + 32 * b;
        __m256i pairs = _mm256_setzero_si256();
        fetch<kAhead, 3>(block);
        for (int j = 0; j < 4; ++j) {
            const __m256i w = avx2::load(block + 16 + 32 * j);
            const __m256i even = _mm256_and_si256(w, nibble);
            const __m256i odd = _mm256_and_si256(_mm256_srli_epi16(w, 4), nibble);
            const __m256i low = _mm256_maddubs_epi16(even, avx2::broadcast4(q8 + 4 * j));
            const __m256i high = _mm256_maddubs_epi16(odd, avx2::broadcast4(q8 + 16 + 4 * j));
            pairs = _mm256_add_epi16(pairs, _mm256_add_epi16(low, high));
        }
        const __m256i sums = _mm256_madd_epi16(pairs, _mm256_set1_epi16(1));
        return _mm256_sub_epi32(sums, _mm256_set1_epi32(8 * x.q8_sum[b]));
    }
    [[gnu::always_inline]] static float factor(const Activation& x, std::int64_t b) {
        return x.q8_scale[b];
    }
    // 32 values become block b of x.
    [[gnu::always_inline]] static void quantize(const float* x, std::int8_t* q8,
                                                std::int8_t* /*low*/, float* scale,
                                                std::int32_t* sum) {
        avx2::quantize_block(x, q8, scale, sum);
    }
};

// The same with the activations' second bytes: 256 * high + low, as one integer before the scale.
template <int kAhead = 0>
struct SixteenBitBlock {
    static constexpr Input input = Input::q16;

    [[gnu::always_inline]] static __m256i sums(const std::byte* block, const Activation& x,
                                               std::int64_t b) {
        const __m256i nibble = _mm256_set1_epi8(15);
        const std::int8_t* bytes[2] = {x.q8 + 32 * b, x.q8_low + 32 * b};
        __m256i pairs[2] = {_mm256_setzero_si256(), _mm256_setzero_si256()};
        fetch<kAhead, 3>(block);
        for (int j = 0; j < 4; ++j) {
            const __m256i w = avx2::load(block + 16 + 32 * j);
            const __m256i even = _mm256_and_si256(w, nibble);
            const __m256i odd = _mm256_and_si256(_mm256_srli_epi16(w, 4), nibble);
            for (int k = 0; k < 2; ++k) {
                const __m256i low = _mm256_maddubs_epi16(even, avx2::broadcast4(bytes[k] + 4 * j));
                const __m256i high =
                    _mm256_maddubs_epi16(odd, avx2::broadcast4(bytes[k] + 16 + 4 * j));
                pairs[k] = _mm256_add_epi16(pairs[k], _mm256_add_epi16(low, high));
            }
        }
        return _mm256_sub_epi32(avx2::join_bytes(pairs[0], pairs[1]),
                                _mm256_set1_epi32(8 * x.q16_sum[b]));
    }
    [[gnu::always_inline]] static float factor(const Activation& x, std::int64_t b) {
        return x.q8_scale[b] / 256.0F;
    }
    [[gnu::always_inline]] static void quantize(const float* x, std::int8_t* q8, std::int8_t* low,
                                                float* scale, std::int32_t* sum16) {
        avx2::quantize_block16(x, q8, low, scale, sum16);
    }
};

// The scales of eight rows' blocks times that of x.
[[gnu::always_inline]] inline __m256 factors(const std::byte* block, float x_factor) {
    return _mm256_mul_ps(avx2::halves(block), _mm256_set1_ps(x_factor));
}

// A form: eight rows in this layout, and what they read of x.
template <class Block>
struct Form : Block {
    static constexpr std::int64_t kRows = q4_0_rows8::kRows;

    template <class Op>
    static VariantOptions<Op> options(std::int64_t granule,
                                      bool (*supports)(const typename Op::Shape&),
                                      typename Op::Run run) {
        return q4_0_rows8::options<Op>(cpu::avx2, Block::input, granule, supports, run);
    }

    // y[0]: the dot products of 8 packed rows with blocks [first, first + n_blocks) of x.
    [[gnu::always_inline]] static void dot(const std::byte* rows, const Activation& x,
                                           std::int64_t first, std::int64_t n_blocks, __m256* y) {
        __m256 total = _mm256_setzero_ps();
        for (std::int64_t b = first; b < first + n_blocks; ++b, rows += kBlockBytes) {
            const __m256 exact = _mm256_cvtepi32_ps(Block::sums(rows, x, b));
            total = _mm256_fmadd_ps(exact, factors(rows, Block::factor(x, b)), total);
        }
        y[0] = total;
    }
};

template <int kAhead = 0>
using EightBit = Form<EightBitBlock<kAhead>>;
template <int kAhead = 0>
using SixteenBit = Form<SixteenBitBlock<kAhead>>;

KERNEL_TARGET_END

}  // namespace steady::q4_0_rows8
