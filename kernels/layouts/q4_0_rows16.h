// The layout "rows16" of Q4_0: sixteen rows side by side (q4_0_interleave.h), so that a lane of a
// 512-bit register is a row and the activations are broadcast.
#pragma once

#include <cstring>

#include "kernels/formats/formats.h"
#include "kernels/layouts/q16.h"
#include "kernels/layouts/q4_0_interleave.h"
#include "kernels/registry/activation.h"
#include "kernels/registry/registry.h"
#include "kernels/simd/avx512.h"
#include "kernels/simd/prefetch.h"

namespace steady::q4_0_rows16 {

constexpr std::int64_t kRows = 16;
constexpr std::int64_t kBlockBytes = 16 * sizeof(BlockQ4_0);

constexpr auto pack = pack_q4_0<kRows>;

// What every variant on this layout registers; the rest is its own.
template <class Op>
VariantOptions<Op> options(cpu::Features needs, Input input, std::int64_t granule,
                           bool (*supports)(const typename Op::Shape&), typename Op::Run run) {
    return packed_options<Op, kRows, Type::q4_0>(needs, input, pack, supports, run, granule);
}

KERNEL_TARGET_BEGIN(KERNEL_AVX512_VNNI)

// A form says how sixteen rows of one block of 32 columns meet block b of x: the exact integer sums
// (without the 8 that is added to each stored quant) and the factor that turns them into floats.

// 8-bit activations. kAhead: bytes of weights fetched ahead by software, 0 for none.
template <int kAhead = 0>
struct EightBit {
    static constexpr Input input = Input::q8;

    [[gnu::always_inline]] static __m512i sums(const std::byte* block, const Activation& x,
                                               std::int64_t b) {
        const __m512i low = _mm512_set1_epi8(15);
        __m512i even = _mm512_setzero_si512();
        __m512i odd = _mm512_setzero_si512();
        fetch<kAhead, 5>(block);
        for (int j = 0; j < 4; ++j) {
            const __m512i w = avx512::load(block + 32 + 64 * j);
            int four[2];
            std::memcpy(&four[0], x.q8 + 32 * b + 4 * j, 4);
            std::memcpy(&four[1], x.q8 + 32 * b + 16 + 4 * j, 4);
            even = _mm512_dpbusd_epi32(even, _mm512_and_si512(w, low), _mm512_set1_epi32(four[0]));
            odd = _mm512_dpbusd_epi32(odd, _mm512_and_si512(_mm512_srli_epi16(w, 4), low),
                                      _mm512_set1_epi32(four[1]));
        }
        const __m512i eight_sums = _mm512_set1_epi32(8 * x.q8_sum[b]);
        return _mm512_sub_epi32(_mm512_add_epi32(even, odd), eight_sums);
    }
    [[gnu::always_inline]] static float factor(const Activation& x, std::int64_t b) {
        return x.q8_scale[b];
    }
    // 32 values in two registers become block b of x.
    [[gnu::always_inline]] static void quantize(__m512 first, __m512 second, std::int8_t* q8,
                                                std::int8_t* /*low*/, float* scale,
                                                std::int32_t* sum) {
        avx512::quantize_block(first, second, q8, scale, sum);
    }
};

// The same with the activations' second bytes: 256 * high + low, as one integer before the scale.
template <int kAhead = 0>
struct SixteenBit {
    static constexpr Input input = Input::q16;

    [[gnu::always_inline]] static __m512i sums(const std::byte* block, const Activation& x,
                                               std::int64_t b) {
        const __m512i nibble = _mm512_set1_epi8(15);
        __m512i sum[4] = {_mm512_setzero_si512(), _mm512_setzero_si512(), _mm512_setzero_si512(),
                          _mm512_setzero_si512()};
        fetch<kAhead, 5>(block);
        for (int j = 0; j < 4; ++j) {
            const __m512i w = avx512::load(block + 32 + 64 * j);
            const __m512i even = _mm512_and_si512(w, nibble);
            const __m512i odd = _mm512_and_si512(_mm512_srli_epi16(w, 4), nibble);
            int four[4];
            std::memcpy(&four[0], x.q8 + 32 * b + 4 * j, 4);
            std::memcpy(&four[1], x.q8 + 32 * b + 16 + 4 * j, 4);
            std::memcpy(&four[2], x.q8_low + 32 * b + 4 * j, 4);
            std::memcpy(&four[3], x.q8_low + 32 * b + 16 + 4 * j, 4);
            sum[0] = _mm512_dpbusd_epi32(sum[0], even, _mm512_set1_epi32(four[0]));
            sum[1] = _mm512_dpbusd_epi32(sum[1], odd, _mm512_set1_epi32(four[1]));
            sum[2] = _mm512_dpbusd_epi32(sum[2], even, _mm512_set1_epi32(four[2]));
            sum[3] = _mm512_dpbusd_epi32(sum[3], odd, _mm512_set1_epi32(four[3]));
        }
        const __m512i high = _mm512_slli_epi32(_mm512_add_epi32(sum[0], sum[1]), 8);
        const __m512i both = _mm512_add_epi32(high, _mm512_add_epi32(sum[2], sum[3]));
        return _mm512_sub_epi32(both, _mm512_set1_epi32(8 * x.q16_sum[b]));
    }
    [[gnu::always_inline]] static float factor(const Activation& x, std::int64_t b) {
        return x.q8_scale[b] / 256.0F;
    }
    [[gnu::always_inline]] static void quantize(__m512 first, __m512 second, std::int8_t* q8,
                                                std::int8_t* low, float* scale,
                                                std::int32_t* sum16) {
        q16::quantize_block(first, second, q8, low, scale, sum16);
    }
};

// Adds one block's products, times `factor` and the rows' own scales.
template <class Form>
[[gnu::always_inline]] inline __m512 add_block(const std::byte* block, const Activation& x,
                                               std::int64_t b, float factor, __m512 total) {
    const __m512 exact = _mm512_cvtepi32_ps(Form::sums(block, x, b));
    return _mm512_fmadd_ps(exact, _mm512_mul_ps(avx512::halves(block), _mm512_set1_ps(factor)),
                           total);
}

// The dot products of 16 packed rows with blocks [first, first + n_blocks) of x, one per lane.
template <class Form>
[[gnu::always_inline]] inline __m512 dot(const std::byte* rows, const Activation& x,
                                         std::int64_t first, std::int64_t n_blocks) {
    __m512 total = _mm512_setzero_ps();
    for (std::int64_t b = 0; b < n_blocks; ++b) {
        const float factor = Form::factor(x, first + b);
        total = add_block<Form>(rows + b * kBlockBytes, x, first + b, factor, total);
    }
    return total;
}

// The same of two groups at once, into y[0] and y[1]: each broadcast of x serves both, and two
// memory streams run side by side. Every row's sum is made as by dot, in the same order.
template <class Form>
[[gnu::always_inline]] inline void dot_pair(const std::byte* rows, const std::byte* others,
                                            const Activation& x, std::int64_t first,
                                            std::int64_t n_blocks, __m512* y) {
    y[0] = y[1] = _mm512_setzero_ps();
    for (std::int64_t b = 0; b < n_blocks; ++b) {
        const float factor = Form::factor(x, first + b);
        y[0] = add_block<Form>(rows + b * kBlockBytes, x, first + b, factor, y[0]);
        y[1] = add_block<Form>(others + b * kBlockBytes, x, first + b, factor, y[1]);
    }
}

KERNEL_TARGET_END

}  // namespace steady::q4_0_rows16
