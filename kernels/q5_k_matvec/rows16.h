// Sixteen rows side by side for Q5_K. Per 256 columns: 16 scales d, 16 of dmin, the twelve bytes of
// packed scales as planes of 16 rows, then for each sub-block of 32 columns 64 bytes of fifth bits
// (bit g: column group g) and 4 × 64 bytes of nibbles, in which byte 4r + i belongs to row r.
// Three registers of planes decode all 16 rows' scales.
#pragma once

#include <cstring>

#include "kernels/layouts/packed_rows.h"
#include "kernels/q5_k_matvec/op.h"
#include "kernels/simd/avx512.h"
#include "kernels/simd/prefetch.h"
#include "kernels/simd/target.h"

namespace steady::q5_k_rows16 {

constexpr std::int64_t kRows = 16;
constexpr std::int64_t kBlockBytes = kRows * sizeof(BlockQ5_K);
constexpr std::int64_t kPlanes = 64;            // offset of the scale planes
constexpr std::int64_t kQuants = 64 + 12 * 16;  // offset of the quants: 320 bytes per sub-block

inline void pack_lane(const BlockQ5_K& block, std::int64_t lane, std::byte* out) {
    std::memcpy(out + 2 * lane, &block.d, sizeof block.d);
    std::memcpy(out + 32 + 2 * lane, &block.dmin, sizeof block.dmin);
    for (int p = 0; p < 12; ++p) std::memcpy(out + kPlanes + 16 * p + lane, &block.scales[p], 1);
    for (int sub = 0; sub < 8; ++sub) {
        auto* quants = reinterpret_cast<std::uint8_t*>(out) + kQuants + 320 * sub + 4 * lane;
        for (int i = 0; i < 4; ++i) {
            int fifth = 0;
            int nibble[8];
            for (int group = 0; group < 8; ++group) {
                const int l = 4 * group + i;
                const std::uint8_t byte = block.qs[sub / 2 * 32 + l];
                nibble[group] = sub % 2 == 0 ? byte & 15 : byte >> 4;
                fifth |= ((block.qh[l] >> sub) & 1) << group;
            }
            quants[i] = static_cast<std::uint8_t>(fifth);
            for (int pair = 0; pair < 4; ++pair) {
                quants[64 + 64 * pair + i] =
                    static_cast<std::uint8_t>(nibble[2 * pair] | nibble[2 * pair + 1] << 4);
            }
        }
    }
}

constexpr auto pack = pack_rows<Type::q5_k, BlockQ5_K, kRows, pack_lane>;

KERNEL_TARGET_BEGIN(KERNEL_AVX512_VNNI)

// Scales and mins of the eight sub-blocks, 16 rows each, as bytes.
[[gnu::always_inline]] inline void decode_scales(const std::byte* planes, std::uint8_t* scales,
                                                 std::uint8_t* mins) {
    const __m512i six = _mm512_set1_epi8(63);
    const __m512i four = _mm512_set1_epi8(15);
    const __m512i top = _mm512_set1_epi8(0x30);
    const __m512i a = avx512::load(planes);        // bytes 0 … 3 of each row
    const __m512i b = avx512::load(planes + 64);   // bytes 4 … 7
    const __m512i c = avx512::load(planes + 128);  // bytes 8 … 11
    constexpr int kOrAnd = 0xF8;                   // first | (second & third)
    const __m512i late_scales =
        _mm512_ternarylogic_epi32(_mm512_and_si512(c, four), _mm512_srli_epi16(a, 2), top, kOrAnd);
    const __m512i late_mins = _mm512_ternarylogic_epi32(
        _mm512_and_si512(_mm512_srli_epi16(c, 4), four), _mm512_srli_epi16(b, 2), top, kOrAnd);
    _mm512_storeu_si512(scales, _mm512_and_si512(a, six));
    _mm512_storeu_si512(scales + 64, late_scales);
    _mm512_storeu_si512(mins, _mm512_and_si512(b, six));
    _mm512_storeu_si512(mins + 64, late_mins);
}

[[gnu::always_inline]] inline __m512i widen(const std::uint8_t* sixteen) {
    return _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(sixteen)));
}

// Adds column groups 2·kPair and 2·kPair + 1 of a sub-block to the sums.
template <unsigned kPair>
[[gnu::always_inline]] inline void add_groups(const std::byte* quants, __m512i fifth,
                                              const std::int8_t* x, __m512i& even, __m512i& odd) {
    constexpr int kOrAnd = 0xF8;  // first | (second & third)
    const __m512i nibble = _mm512_set1_epi8(15);
    const __m512i bit4 = _mm512_set1_epi8(16);
    const __m512i w = avx512::load(quants + 64 + 64 * kPair);
    // Bit g of `fifth` moves to bit 4.
    constexpr unsigned kUp = kPair < 2 ? 3 - 2 * kPair : 0, kDown = kPair < 2 ? 0 : 2 * kPair - 4;
    const __m512i low_bit =
        kPair < 2 ? _mm512_slli_epi16(fifth, kUp + 1) : _mm512_srli_epi16(fifth, kDown);
    const __m512i high_bit =
        kPair < 2 ? _mm512_slli_epi16(fifth, kUp) : _mm512_srli_epi16(fifth, kDown + 1);
    const __m512i low =
        _mm512_ternarylogic_epi32(_mm512_and_si512(w, nibble), low_bit, bit4, kOrAnd);
    const __m512i high = _mm512_ternarylogic_epi32(
        _mm512_and_si512(_mm512_srli_epi16(w, 4), nibble), high_bit, bit4, kOrAnd);
    even = _mm512_dpbusd_epi32(even, low, avx512::broadcast4(x + 8 * kPair));
    odd = _mm512_dpbusd_epi32(odd, high, avx512::broadcast4(x + 8 * kPair + 4));
}

// Σ q · x over one sub-block of 32 columns, per row.
[[gnu::always_inline]] inline __m512i sub_block(const std::byte* quants, const std::int8_t* x) {
    const __m512i fifth = avx512::load(quants);
    __m512i even = _mm512_setzero_si512();
    __m512i odd = _mm512_setzero_si512();
    add_groups<0>(quants, fifth, x, even, odd);
    add_groups<1>(quants, fifth, x, even, odd);
    add_groups<2>(quants, fifth, x, even, odd);
    add_groups<3>(quants, fifth, x, even, odd);
    return _mm512_add_epi32(even, odd);
}

// The dot products of kGroups times 16 packed rows with x, one group per register of y.
template <int kAhead, int kGroups>
[[gnu::always_inline]] inline void dot(const std::byte* rows, const std::int8_t* q8,
                                       const float* scale, const std::int32_t* sum,
                                       std::int64_t n_blocks, __m512* y) {
    alignas(64) std::uint8_t scales[kGroups][128];
    alignas(64) std::uint8_t mins[kGroups][128];
    for (int g = 0; g < kGroups; ++g) y[g] = _mm512_setzero_ps();
    for (std::int64_t b = 0; b < n_blocks; ++b) {
        const std::byte* block[kGroups];
        __m512 scaled[kGroups];
        __m512 taken[kGroups];
        for (int g = 0; g < kGroups; ++g) {
            block[g] = rows + (g * n_blocks + b) * kBlockBytes;
            decode_scales(block[g] + kPlanes, scales[g], mins[g]);
            scaled[g] = taken[g] = _mm512_setzero_ps();
        }
        for (int s = 0; s < 8; ++s) {
            const std::int64_t at = b * 8 + s;
            const __m512 x_scale = _mm512_set1_ps(scale[at]);
            const __m512 x_sum = _mm512_set1_ps(scale[at] * static_cast<float>(sum[at]));
            for (int g = 0; g < kGroups; ++g) {
                const std::byte* quants = block[g] + kQuants + 320 * s;
                fetch<kAhead, 6>(quants);
                const __m512i product =
                    _mm512_mullo_epi32(sub_block(quants, q8 + at * 32), widen(scales[g] + 16 * s));
                scaled[g] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(product), x_scale, scaled[g]);
                taken[g] =
                    _mm512_fmadd_ps(_mm512_cvtepi32_ps(widen(mins[g] + 16 * s)), x_sum, taken[g]);
            }
        }
        for (int g = 0; g < kGroups; ++g) {
            y[g] = _mm512_fmadd_ps(avx512::halves(block[g]), scaled[g], y[g]);
            y[g] = _mm512_fnmadd_ps(avx512::halves(block[g] + 32), taken[g], y[g]);
        }
    }
}

template <int kAhead, int kGroups>
void run(const Q5_KMatvec::Args& args, Range range) noexcept {
    const MatvecShape& shape = args.shape;
    const std::int64_t n_blocks = shape.cols / 256;
    for (std::int64_t r = range.begin; r < range.end; r += kGroups * kRows) {
        const std::int64_t first = r / shape.rows * n_blocks * 8;
        __m512 y[kGroups];
        dot<kAhead, kGroups>(args.w + r * n_blocks * 176, args.x.q8 + first * 32,
                             args.x.q8_scale + first, args.x.q8_sum + first, n_blocks, y);
        for (int g = 0; g < kGroups; ++g) _mm512_storeu_ps(args.y + r + g * kRows, y[g]);
    }
}

KERNEL_TARGET_END

// kAhead: bytes of weights fetched ahead by software, 0 for none. kGroups: groups of sixteen rows
// per pass.
template <int kAhead, int kGroups = 1>
VariantOptions<Q5_KMatvec> options() {
    constexpr std::int64_t kAtOnce = kGroups * kRows;
    return packed_options<Q5_KMatvec, kRows>(
        cpu::avx512_vnni, Input::q8, pack,
        [](const MatvecShape& shape) { return shape.rows % kAtOnce == 0; }, run<kAhead, kGroups>,
        kAtOnce);
}

}  // namespace steady::q5_k_rows16
