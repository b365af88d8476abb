// One row at a time in the file's own layout: 64 quants per register, dot products by VNNI, the
// eight sub-blocks' scales and mins decoded together. Expected: twice avx2; behind the packed
// layout by a horizontal sum and a scale decode per row.
#include <cstring>

#include "kernels/q5_k_matvec/op.h"
#include "kernels/simd/avx512.h"
#include "kernels/simd/target.h"

namespace steady {

KERNEL_TARGET_BEGIN(KERNEL_AVX512_VNNI)
namespace {

// Eight 6-bit numbers, one per byte, as floats.
[[gnu::always_inline]] inline __m256 eight(std::uint32_t first, std::uint32_t second) {
    const auto bytes = static_cast<std::int64_t>(static_cast<std::uint64_t>(second) << 32 | first);
    return _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_cvtsi64_si128(bytes)));
}

// Two sub-blocks of 32 quants each against x, lanes 0 … 7 and 8 … 15, times their factors.
// `shifts` brings the fifth bit of each to the lowest place.
[[gnu::always_inline]] inline __m512 add_pair(__m512i nibbles, __m512i fifths, __m512i shifts,
                                              __m512i x, __m512 factors, __m512 sum) {
    const __m512i bit = _mm512_and_si512(_mm512_srlv_epi16(fifths, shifts), _mm512_set1_epi8(1));
    const __m512i q = _mm512_or_si512(nibbles, _mm512_slli_epi16(bit, 4));
    const __m512i exact = _mm512_dpbusd_epi32(_mm512_setzero_si512(), q, x);
    return _mm512_fmadd_ps(_mm512_cvtepi32_ps(exact), factors, sum);
}

// 32 bytes at `low` and 32 at `high` in one register.
[[gnu::always_inline]] inline __m512i join(const std::int8_t* low, const std::int8_t* high) {
    const __m256i a = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(low));
    const __m256i b = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(high));
    return _mm512_inserti64x4(_mm512_castsi256_si512(a), b, 1);
}

[[gnu::always_inline]] inline float dot(const std::byte* row, const Activation& x,
                                        std::int64_t first, std::int64_t n_blocks) {
    const __m512i nibble = _mm512_set1_epi8(15);
    const __m512i halves = _mm512_setr_epi32(0, 0, 0, 0, 0, 0, 0, 0, 2, 2, 2, 2, 2, 2, 2, 2);
    __m512 total = _mm512_setzero_ps();
    __m256 taken = _mm256_setzero_ps();
    for (std::int64_t b = 0; b < n_blocks; ++b) {
        const auto& block = *reinterpret_cast<const BlockQ5_K*>(row + 176 * b);
        const std::int64_t at = first + 8 * b;  // the block's first block of x
        std::uint32_t packed[3];
        std::memcpy(packed, block.scales, sizeof packed);
        const std::uint32_t top = 0x30303030;
        const std::uint32_t six = 0x3F3F3F3F;
        const std::uint32_t four = 0x0F0F0F0F;
        const __m256 x_scale = _mm256_loadu_ps(x.q8_scale + at);
        const __m512 factors = _mm512_castps256_ps512(_mm256_mul_ps(
            eight(packed[0] & six, (packed[2] & four) | ((packed[0] >> 2) & top)), x_scale));
        const __m256 mins = _mm256_mul_ps(
            eight(packed[1] & six, ((packed[2] >> 4) & four) | ((packed[1] >> 2) & top)), x_scale);
        const __m256 x_sums =
            _mm256_cvtepi32_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(x.q8_sum + at)));
        const __m512i fifths =
            _mm512_broadcast_i64x4(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(block.qh)));
        __m512 sum = _mm512_setzero_ps();
        for (int quad = 0; quad < 2; ++quad) {  // four sub-blocks: s, s + 1, s + 2, s + 3
            const int s = 4 * quad;
            const __m512i bytes = avx512::load(block.qs + 64 * quad);
            const std::int8_t* q8 = x.q8 + 32 * (at + s);
            // Sub-blocks s + odd and s + odd + 2: bits to shift by, per sixteen bits, and lanes.
            for (int odd = 0; odd < 2; ++odd) {
                const __m512i places = _mm512_add_epi32(halves, _mm512_set1_epi32(s + odd));
                const __m512i shifts = _mm512_or_si512(places, _mm512_slli_epi32(places, 16));
                const __m512i nibbles =
                    _mm512_and_si512(odd == 0 ? bytes : _mm512_srli_epi16(bytes, 4), nibble);
                sum = add_pair(nibbles, fifths, shifts, join(q8 + 32 * odd, q8 + 32 * (odd + 2)),
                               _mm512_permutexvar_ps(places, factors), sum);
            }
        }
        total = _mm512_fmadd_ps(_mm512_set1_ps(_cvtsh_ss(block.d.bits)), sum, total);
        taken = _mm256_fmadd_ps(_mm256_set1_ps(_cvtsh_ss(block.dmin.bits)),
                                _mm256_mul_ps(mins, x_sums), taken);
    }
    return avx512::sum(_mm512_sub_ps(total, _mm512_zextps256_ps512(taken)));
}

void run(const Q5_KMatvec::Args& args, Range range) noexcept {
    const std::int64_t n_blocks = args.shape.cols / 256;
    for (std::int64_t r = range.begin; r < range.end; ++r) {
        args.y[r] =
            dot(args.w + r * n_blocks * 176, args.x, r / args.shape.rows * n_blocks * 8, n_blocks);
    }
}

}  // namespace
KERNEL_TARGET_END

static const Variant<Q5_KMatvec> variant{
    "avx512_vnni", {.needs = cpu::avx512_vnni, .input = Input::q8, .run = run}};

}  // namespace steady
