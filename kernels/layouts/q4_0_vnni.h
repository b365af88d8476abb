// Q4_0 rows in the GGUF layout with AVX-512 VNNI, four blocks at a time. Everything that depends on
// the activations alone (their order, scales and sums) is prepared once per four blocks and serves
// as many rows as the caller has at hand; that is the only difference between the variants built on
// it.
#pragma once

#include <cstring>

#include "kernels/formats/formats.h"
#include "kernels/registry/activation.h"
#include "kernels/simd/avx512.h"

namespace steady::q4_0_vnni {

constexpr std::int64_t kQuadBytes = 4 * sizeof(BlockQ4_0);

KERNEL_TARGET_BEGIN(KERNEL_AVX512_VNNI)

// 128 activations as four blocks of weights need them.
struct Quad {
    __m512i low, high;   // the blocks' first and second sixteen values, one block per 128 bits
    __m512i eight_sums;  // 8 · Σx of each block, in the first lane of its 128 bits
    __m128 scale;        // of each block
};

[[gnu::always_inline]] inline Quad load_quad(const std::int8_t* q8, const float* scale,
                                             const std::int32_t* sum) {
    const __m512i a = avx512::load(q8);
    const __m512i b = avx512::load(q8 + 64);
    const __m512i places = _mm512_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3);
    const __m512i sums =
        _mm512_castsi128_si512(_mm_loadu_si128(reinterpret_cast<const __m128i*>(sum)));
    return {_mm512_shuffle_i64x2(a, b, 0x88), _mm512_shuffle_i64x2(a, b, 0xDD),
            _mm512_slli_epi32(_mm512_maskz_permutexvar_epi32(0x1111, places, sums), 3),
            _mm_loadu_ps(scale)};
}

[[gnu::always_inline]] inline __m128i quants(const std::byte* block) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(block + 2));
}

// Adds four blocks' products to the row's 16 partial sums.
[[gnu::always_inline]] inline __m512 add_quad(const std::byte* blocks, const Quad& x, __m512 sum) {
    __m512i w = _mm512_castsi128_si512(quants(blocks));
    w = _mm512_inserti32x4(w, quants(blocks + 18), 1);
    w = _mm512_inserti32x4(w, quants(blocks + 36), 2);
    w = _mm512_inserti32x4(w, quants(blocks + 54), 3);
    std::uint16_t d[4];
    for (int i = 0; i < 4; ++i) std::memcpy(&d[i], blocks + 18 * i, 2);
    const __m128i halves = _mm_cvtsi64_si128(static_cast<std::int64_t>(
        static_cast<std::uint64_t>(d[0]) | static_cast<std::uint64_t>(d[1]) << 16 |
        static_cast<std::uint64_t>(d[2]) << 32 | static_cast<std::uint64_t>(d[3]) << 48));
    const __m128 scale = _mm_mul_ps(_mm_cvtph_ps(halves), x.scale);
    const __m512i places = _mm512_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3);
    const __m512 scales = _mm512_permutexvar_ps(places, _mm512_castps128_ps512(scale));
    const __m512i nibble = _mm512_set1_epi8(15);
    __m512i exact = _mm512_sub_epi32(_mm512_setzero_si512(), x.eight_sums);
    exact = _mm512_dpbusd_epi32(exact, _mm512_and_si512(w, nibble), x.low);
    exact = _mm512_dpbusd_epi32(exact, _mm512_and_si512(_mm512_srli_epi16(w, 4), nibble), x.high);
    return _mm512_fmadd_ps(_mm512_cvtepi32_ps(exact), scales, sum);
}

// The products of kRows neighbouring rows with x: a row's result does not depend on kRows.
template <int kRows>
[[gnu::always_inline]] inline void dots(const std::byte* rows, const std::int8_t* q8,
                                        const float* scale, const std::int32_t* sum,
                                        std::int64_t n_blocks, float* y) {
    const std::int64_t stride = n_blocks * 18;
    __m512 sums[kRows];
    for (int r = 0; r < kRows; ++r) sums[r] = _mm512_setzero_ps();
    std::int64_t b = 0;
    for (; b + 4 <= n_blocks; b += 4) {
        const Quad x = load_quad(q8 + 32 * b, scale + b, sum + b);
        for (int r = 0; r < kRows; ++r) {
            sums[r] = add_quad(rows + r * stride + 18 * b, x, sums[r]);
        }
    }
    if (b < n_blocks) {  // the last one to three blocks, filled up with zeros
        alignas(64) std::int8_t last_q8[128] = {};
        float last_scale[4] = {};
        std::int32_t last_sum[4] = {};
        const auto left = static_cast<std::size_t>(n_blocks - b);
        std::memcpy(last_q8, q8 + 32 * b, 32 * left);
        std::memcpy(last_scale, scale + b, 4 * left);
        std::memcpy(last_sum, sum + b, 4 * left);
        const Quad x = load_quad(last_q8, last_scale, last_sum);
        for (int r = 0; r < kRows; ++r) {
            std::byte blocks[kQuadBytes] = {};
            std::memcpy(blocks, rows + r * stride + 18 * b, 18 * left);
            sums[r] = add_quad(blocks, x, sums[r]);
        }
    }
    for (int r = 0; r < kRows; ++r) y[r] = avx512::sum(sums[r]);
}

// Rows [begin, end) of a grouped matrix, kRows at a time, the rest one by one.
template <int kRows>
[[gnu::always_inline]] inline void matvec(const std::byte* w, const Activation& x, float* y,
                                          std::int64_t rows_per_group, std::int64_t n_blocks,
                                          std::int64_t begin, std::int64_t end) {
    std::int64_t r = begin;
    while (r < end) {
        const std::int64_t first = r / rows_per_group * n_blocks;
        const std::int64_t group_end = (r / rows_per_group + 1) * rows_per_group;
        const std::int64_t stop = end < group_end ? end : group_end;
        const std::int8_t* q8 = x.q8 + 32 * first;
        for (; r + kRows <= stop; r += kRows) {
            dots<kRows>(w + r * n_blocks * 18, q8, x.q8_scale + first, x.q8_sum + first, n_blocks,
                        y + r);
        }
        for (; r < stop; ++r) {
            dots<1>(w + r * n_blocks * 18, q8, x.q8_scale + first, x.q8_sum + first, n_blocks,
                    y + r);
        }
    }
}

KERNEL_TARGET_END

}  // namespace steady::q4_0_vnni
