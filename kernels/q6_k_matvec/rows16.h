// Sixteen rows side by side for Q6_K. Per 256 columns: 16 scales d, 16 × 16 sub-block scales, then
// for each sub-block of 16 columns 64 bytes of high bits and 2 × 64 bytes of nibbles, in which byte
// 4r + i belongs to row r; the four column groups sit at bits 0, 2, 4, 6 and in low/high nibbles.
#pragma once

#include <cstring>

#include "kernels/layouts/packed_rows.h"
#include "kernels/q6_k_matvec/op.h"
#include "kernels/simd/avx512.h"
#include "kernels/simd/prefetch.h"
#include "kernels/simd/sums16.h"
#include "kernels/simd/target.h"

namespace steady::q6_k_rows16 {

constexpr std::int64_t kRows = 16;
constexpr std::int64_t kBlockBytes = kRows * sizeof(BlockQ6_K);
constexpr std::int64_t kScales = 32;            // offset of the sub-block scales
constexpr std::int64_t kQuants = 32 + 16 * 16;  // offset of the quants: 192 bytes per sub-block

// The 6-bit number of value i (0 … 255).
inline int six_bits(const BlockQ6_K& b, int i) {
    const int half = i / 128;
    const int run = i % 128 / 32;
    const int l = i % 32;
    const std::uint8_t byte = b.ql[half * 64 + run % 2 * 32 + l];
    const int low = run < 2 ? byte & 15 : byte >> 4;
    return low | ((b.qh[half * 32 + l] >> (2 * run)) & 3) << 4;
}

inline void pack_lane(const BlockQ6_K& block, std::int64_t lane, std::byte* out) {
    std::memcpy(out + 2 * lane, &block.d, sizeof block.d);
    for (int s = 0; s < 16; ++s) {
        std::memcpy(out + kScales + 16 * s + lane, &block.scales[s], 1);
        auto* quants = reinterpret_cast<std::uint8_t*>(out) + kQuants + 192 * s + 4 * lane;
        for (int i = 0; i < 4; ++i) {
            int high = 0;
            int nibble[4];
            for (int group = 0; group < 4; ++group) {
                const int q = six_bits(block, 16 * s + 4 * group + i);
                high |= (q >> 4) << (2 * group);
                nibble[group] = q & 15;
            }
            quants[i] = static_cast<std::uint8_t>(high);
            quants[64 + i] = static_cast<std::uint8_t>(nibble[0] | nibble[1] << 4);
            quants[128 + i] = static_cast<std::uint8_t>(nibble[2] | nibble[3] << 4);
        }
    }
}

constexpr auto pack = pack_rows<Type::q6_k, BlockQ6_K, kRows, pack_lane>;

KERNEL_TARGET_BEGIN(KERNEL_AVX512_VNNI)

// Σ (q - 32) · x over one sub-block of 16 columns, per row; minus_sums is -32 · Σx.
[[gnu::always_inline]] inline __m512i sub_block(const std::byte* quants, const std::int8_t* x,
                                                std::int32_t minus_sums) {
    const __m512i nibble = _mm512_set1_epi8(15);
    const __m512i high_bits = _mm512_set1_epi8(0x30);
    const __m512i high = avx512::load(quants);
    const __m512i a = avx512::load(quants + 64);
    const __m512i b = avx512::load(quants + 128);
    constexpr int kOrAnd = 0xF8;  // first | (second & third)
    const __m512i w0 = _mm512_ternarylogic_epi32(_mm512_and_si512(a, nibble),
                                                 _mm512_slli_epi16(high, 4), high_bits, kOrAnd);
    const __m512i w1 = _mm512_ternarylogic_epi32(_mm512_and_si512(_mm512_srli_epi16(a, 4), nibble),
                                                 _mm512_slli_epi16(high, 2), high_bits, kOrAnd);
    const __m512i w2 =
        _mm512_ternarylogic_epi32(_mm512_and_si512(b, nibble), high, high_bits, kOrAnd);
    const __m512i w3 = _mm512_ternarylogic_epi32(_mm512_and_si512(_mm512_srli_epi16(b, 4), nibble),
                                                 _mm512_srli_epi16(high, 2), high_bits, kOrAnd);
    __m512i even = _mm512_dpbusd_epi32(_mm512_set1_epi32(minus_sums), w0, avx512::broadcast4(x));
    __m512i odd = _mm512_dpbusd_epi32(_mm512_setzero_si512(), w1, avx512::broadcast4(x + 4));
    even = _mm512_dpbusd_epi32(even, w2, avx512::broadcast4(x + 8));
    odd = _mm512_dpbusd_epi32(odd, w3, avx512::broadcast4(x + 12));
    return _mm512_add_epi32(even, odd);
}

[[gnu::always_inline]] inline __m512i scales_of(const std::byte* block, int sub) {
    return _mm512_cvtepi8_epi32(
        _mm_loadu_si128(reinterpret_cast<const __m128i*>(block + kScales + 16 * sub)));
}

// The dot products of kGroups times 16 packed rows with x, one group per register of y.
template <int kAhead, int kGroups>
[[gnu::always_inline]] inline void dot(const std::byte* rows, const std::int8_t* q8,
                                       const float* scale, const std::int32_t* minus_sums,
                                       std::int64_t n_blocks, __m512* y) {
    for (int g = 0; g < kGroups; ++g) y[g] = _mm512_setzero_ps();
    for (std::int64_t b = 0; b < n_blocks; ++b) {
        const std::byte* block[kGroups];
        __m512 sum[kGroups];
        for (int g = 0; g < kGroups; ++g) {
            block[g] = rows + (g * n_blocks + b) * kBlockBytes;
            sum[g] = _mm512_setzero_ps();
        }
        for (int pair = 0; pair < 8; ++pair) {  // two sub-blocks share one scale of x
            const std::int8_t* x = q8 + b * 256 + pair * 32;
            const std::int32_t* minus = minus_sums + b * 16 + pair * 2;
            const __m512 x_scale = _mm512_set1_ps(scale[b * 8 + pair]);
            for (int g = 0; g < kGroups; ++g) {
                const std::byte* quants = block[g] + kQuants + 384 * pair;
                fetch<kAhead, 7>(quants);
                const __m512i first = _mm512_mullo_epi32(sub_block(quants, x, minus[0]),
                                                         scales_of(block[g], 2 * pair));
                const __m512i second = _mm512_mullo_epi32(sub_block(quants + 192, x + 16, minus[1]),
                                                          scales_of(block[g], 2 * pair + 1));
                const __m512 exact = _mm512_cvtepi32_ps(_mm512_add_epi32(first, second));
                sum[g] = _mm512_fmadd_ps(exact, x_scale, sum[g]);
            }
        }
        for (int g = 0; g < kGroups; ++g) {
            y[g] = _mm512_fmadd_ps(avx512::halves(block[g]), sum[g], y[g]);
        }
    }
}

template <int kAhead, int kGroups>
void run(const Q6_KMatvec::Args& args, Range range) noexcept {
    const MatvecShape& shape = args.shape;
    const std::int64_t n_blocks = shape.cols / 256;
    std::int32_t minus_sums[sums16::kMaxCols / 16] = {};
    std::int64_t prepared = -1;  // the group whose sums are in minus_sums
    for (std::int64_t r = range.begin; r < range.end; r += kGroups * kRows) {
        const std::int64_t group = r / shape.rows;
        const std::int8_t* q8 = args.x.q8 + group * shape.cols;
        if (group != prepared) sums16::fill(q8, shape.cols, -32, minus_sums);
        prepared = group;
        __m512 y[kGroups];
        dot<kAhead, kGroups>(args.w + r * n_blocks * 210, q8,
                             args.x.q8_scale + group * n_blocks * 8, minus_sums, n_blocks, y);
        for (int g = 0; g < kGroups; ++g) _mm512_storeu_ps(args.y + r + g * kRows, y[g]);
    }
}

KERNEL_TARGET_END

// kAhead: bytes of weights fetched ahead by software, 0 for none. kGroups: groups of sixteen rows
// per pass.
template <int kAhead, int kGroups = 1>
VariantOptions<Q6_KMatvec> options() {
    constexpr std::int64_t kAtOnce = kGroups * kRows;
    return packed_options<Q6_KMatvec, kRows>(
        cpu::avx512_vnni, Input::q8, pack,
        [](const MatvecShape& shape) {
            return shape.rows % kAtOnce == 0 && shape.cols <= sums16::kMaxCols;
        },
        run<kAhead, kGroups>, kAtOnce);
}

}  // namespace steady::q6_k_rows16
