// Small AVX2 building blocks that several variants use. Always inlined into callers that have
// opened the same target region.
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "kernels/formats/formats.h"
#include "kernels/simd/target.h"

namespace steady::avx2 {

KERNEL_TARGET_BEGIN(KERNEL_AVX2)

// Sum of the 8 lanes, always in the same order.
[[gnu::always_inline]] inline float sum(__m256 v) {
    __m128 half = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    half = _mm_add_ps(half, _mm_movehl_ps(half, half));
    return _mm_cvtss_f32(_mm_add_ss(half, _mm_shuffle_ps(half, half, 1)));
}

[[gnu::always_inline]] inline float largest(__m256 v) {
    __m128 half = _mm_max_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    half = _mm_max_ps(half, _mm_movehl_ps(half, half));
    return _mm_cvtss_f32(_mm_max_ss(half, _mm_shuffle_ps(half, half, 1)));
}

[[gnu::always_inline]] inline float to_float(Half half) { return _cvtsh_ss(half.bits); }

[[gnu::always_inline]] inline __m256i load(const void* at) {
    return _mm256_loadu_si256(static_cast<const __m256i*>(at));
}

// Lanes i < left are set; left at least 0.
[[gnu::always_inline]] inline __m256i lanes(std::int64_t left) {
    const __m256i index = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    const int bound = left < 8 ? static_cast<int>(left) : 8;
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(bound), index);
}

// The first `left` of eight lanes, or all. A plain store where it can be one: a masked one takes
// nine times as long on a Zen 3.
[[gnu::always_inline]] inline void store(float* at, __m256 values, std::int64_t left) {
    if (left >= 8) {
        _mm256_storeu_ps(at, values);
    } else {
        _mm256_maskstore_ps(at, lanes(left), values);
    }
}

// Σ w · x over 32 int8 pairs in eight int32, w unsigned and at most 127: sums of two products fit
// sixteen bits.
[[gnu::always_inline]] inline __m256i dot32(__m256i unsigned_w, __m256i x) {
    return _mm256_madd_epi16(_mm256_maddubs_epi16(unsigned_w, x), _mm256_set1_epi16(1));
}

// sum + the products of neighbouring bytes, two and two, w unsigned, in sixteen bits. As one piece:
// left to order them itself, GCC 12 begins all products of a block before the first sum, and has no
// registers left for the sums.
[[gnu::always_inline]] inline __m256i add_byte_products(__m256i sum, __m256i w, __m256i x) {
    __m256i products;
    asm("vpmaddubsw %3, %2, %1\n\tvpaddw %1, %0, %0" : "+x"(sum), "=&x"(products) : "x"(w), "x"(x));
    return sum;
}

// Two neighbouring sums each of products with first and with second bytes: 256 · high + low.
[[gnu::always_inline]] inline __m256i join_bytes(__m256i high, __m256i low) {
    return _mm256_add_epi32(_mm256_madd_epi16(high, _mm256_set1_epi16(256)),
                            _mm256_madd_epi16(low, _mm256_set1_epi16(1)));
}

[[gnu::always_inline]] inline __m256 power_of_two(__m256i exponent) {
    return _mm256_castsi256_ps(
        _mm256_slli_epi32(_mm256_add_epi32(exponent, _mm256_set1_epi32(127)), 23));
}

// Cephes' expf, for arguments up to 0; it underflows gradually.
[[gnu::always_inline]] inline __m256 exp_negative(__m256 argument) {
    const __m256 x = _mm256_max_ps(argument, _mm256_set1_ps(-110.0F));
    const __m256 n = _mm256_round_ps(_mm256_mul_ps(x, _mm256_set1_ps(1.44269504F)),
                                     _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    __m256 r = _mm256_fnmadd_ps(n, _mm256_set1_ps(0.693359375F), x);
    r = _mm256_fnmadd_ps(n, _mm256_set1_ps(-2.12194440E-4F), r);
    __m256 p = _mm256_set1_ps(1.9875691500E-4F);
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(1.3981999507E-3F));
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(8.3334519073E-3F));
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(4.1665795894E-2F));
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(1.6666665459E-1F));
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(5.0000001201E-1F));
    p = _mm256_fmadd_ps(p, _mm256_mul_ps(r, r), _mm256_add_ps(r, _mm256_set1_ps(1.0F)));
    // Two steps, since 2^n itself may be below the normal floats where the result is not zero yet.
    const __m256i whole = _mm256_cvtps_epi32(n);
    const __m256i half = _mm256_srai_epi32(whole, 1);
    const __m256i rest = _mm256_sub_epi32(whole, half);
    return _mm256_mul_ps(_mm256_mul_ps(p, power_of_two(half)), power_of_two(rest));
}

// gate / (1 + e^-gate) * up, written with e^-|gate|, which cannot overflow.
[[gnu::always_inline]] inline __m256 swiglu(__m256 gate, __m256 up) {
    const __m256 minus_abs = _mm256_or_ps(gate, _mm256_set1_ps(-0.0F));
    const __m256 e = exp_negative(minus_abs);
    const __m256 top = _mm256_blendv_ps(gate, _mm256_mul_ps(gate, e), gate);  // by sign
    const __m256 silu = _mm256_div_ps(top, _mm256_add_ps(_mm256_set1_ps(1.0F), e));
    return _mm256_mul_ps(silu, up);
}

// Σ a · b with four partial sums; the tail by mask.
[[gnu::always_inline]] inline float dot(const float* a, const float* b, std::int64_t n) {
    __m256 sums[4] = {_mm256_setzero_ps(), _mm256_setzero_ps(), _mm256_setzero_ps(),
                      _mm256_setzero_ps()};
    std::int64_t i = 0;
    for (; i + 32 <= n; i += 32) {
        for (int k = 0; k < 4; ++k) {
            sums[k] = _mm256_fmadd_ps(_mm256_loadu_ps(a + i + 8 * k),
                                      _mm256_loadu_ps(b + i + 8 * k), sums[k]);
        }
    }
    for (; i < n; i += 8) {
        const __m256i mask = lanes(n - i);
        sums[0] = _mm256_fmadd_ps(_mm256_maskload_ps(a + i, mask), _mm256_maskload_ps(b + i, mask),
                                  sums[0]);
    }
    return sum(_mm256_add_ps(_mm256_add_ps(sums[0], sums[1]), _mm256_add_ps(sums[2], sums[3])));
}

// 32 int32 become bytes, saturating.
[[gnu::always_inline]] inline void store_bytes(const __m256i* q, std::int8_t* out) {
    const __m256i words_a = _mm256_packs_epi32(q[0], q[1]);
    const __m256i words_b = _mm256_packs_epi32(q[2], q[3]);
    const __m256i bytes = _mm256_permutevar8x32_epi32(_mm256_packs_epi16(words_a, words_b),
                                                      _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out), bytes);
}

// Sum of 32 int32.
[[gnu::always_inline]] inline std::int32_t sum32(const __m256i* q) {
    const __m256i sums =
        _mm256_add_epi32(_mm256_add_epi32(q[0], q[1]), _mm256_add_epi32(q[2], q[3]));
    __m128i total = _mm_add_epi32(_mm256_castsi256_si128(sums), _mm256_extracti128_si256(sums, 1));
    total = _mm_add_epi32(total, _mm_shuffle_epi32(total, 0x4E));
    return _mm_cvtsi128_si32(_mm_add_epi32(total, _mm_shuffle_epi32(total, 0xB1)));
}

// Writes the scale of 32 values, max|x| / 127, and returns what to divide them by.
[[gnu::always_inline]] inline __m256 block_divisor(const float* x, float* scale) {
    const __m256 sign = _mm256_set1_ps(-0.0F);
    __m256 largest = _mm256_setzero_ps();
    for (int k = 0; k < 4; ++k) {
        largest = _mm256_max_ps(largest, _mm256_andnot_ps(sign, _mm256_loadu_ps(x + 8 * k)));
    }
    const float max = avx2::largest(largest);
    *scale = max / 127.0F;
    return _mm256_set1_ps(max > 0 ? *scale : 1.0F);
}

// 32 values into the q8 form: what op quantize_q8 does to one block.
[[gnu::always_inline]] inline void quantize_block(const float* x, std::int8_t* q8, float* scale,
                                                  std::int32_t* block_sum) {
    const __m256 divisor = block_divisor(x, scale);
    __m256i q[4];
    for (int k = 0; k < 4; ++k) {
        q[k] = _mm256_cvtps_epi32(_mm256_div_ps(_mm256_loadu_ps(x + 8 * k), divisor));
    }
    store_bytes(q, q8);
    *block_sum = sum32(q);
}

// 32 values into the q16 form: what op quantize_q16 does to one block.
[[gnu::always_inline]] inline void quantize_block16(const float* x, std::int8_t* q8,
                                                    std::int8_t* low, float* scale,
                                                    std::int32_t* sum16) {
    const __m256 divisor = block_divisor(x, scale);
    __m256i high[4];
    __m256i rest[4];
    __m256i both[4];
    for (int k = 0; k < 4; ++k) {
        const __m256 steps = _mm256_div_ps(_mm256_loadu_ps(x + 8 * k), divisor);
        high[k] = _mm256_cvtps_epi32(steps);
        const __m256 left = _mm256_sub_ps(steps, _mm256_cvtepi32_ps(high[k]));
        rest[k] = _mm256_cvtps_epi32(_mm256_mul_ps(left, _mm256_set1_ps(256.0F)));
        rest[k] = _mm256_min_epi32(rest[k], _mm256_set1_epi32(127));
        both[k] = _mm256_add_epi32(_mm256_slli_epi32(high[k], 8), rest[k]);
    }
    store_bytes(high, q8);
    store_bytes(rest, low);
    *sum16 = sum32(both);
}

// The four bytes at `at` in every lane.
[[gnu::always_inline]] inline __m256i broadcast4(const std::int8_t* at) {
    int four;
    std::memcpy(&four, at, 4);
    return _mm256_set1_epi32(four);
}

// Eight half floats as floats.
[[gnu::always_inline]] inline __m256 halves(const std::byte* at) {
    return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(at)));
}

// One row of Q4_0 in the file's layout with q8 activations.
[[gnu::always_inline]] inline float q4_0_dot(const std::byte* row, const std::int8_t* q8,
                                             const float* scale, std::int64_t n_blocks) {
    const __m256i nibble = _mm256_set1_epi8(15);
    const __m256i eight = _mm256_set1_epi8(8);
    __m256 sums[2] = {_mm256_setzero_ps(), _mm256_setzero_ps()};
    for (std::int64_t b = 0; b < n_blocks; ++b) {
        // In place: a copy on the stack would be read across the stores that made it.
        const auto& block = *reinterpret_cast<const BlockQ4_0*>(row + 18 * b);
        const __m128i packed = _mm_loadu_si128(reinterpret_cast<const __m128i*>(block.qs));
        const __m256i both = _mm256_set_m128i(_mm_srli_epi16(packed, 4), packed);
        const __m256i x = load(q8 + 32 * b);
        const __m256i q = _mm256_sub_epi8(_mm256_and_si256(both, nibble), eight);
        // |q| · (x with q's sign): the multiply wants one unsigned side.
        const __m256i exact = dot32(_mm256_sign_epi8(q, q), _mm256_sign_epi8(x, q));
        const __m256 d = _mm256_set1_ps(to_float(block.d) * scale[b]);
        sums[b % 2] = _mm256_fmadd_ps(_mm256_cvtepi32_ps(exact), d, sums[b % 2]);
    }
    return sum(_mm256_add_ps(sums[0], sums[1]));
}

KERNEL_TARGET_END

}  // namespace steady::avx2
