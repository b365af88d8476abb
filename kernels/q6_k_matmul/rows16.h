// Tiles of vectors over the layout rows16 of Q6_K (kernels/q6_k_matvec/rows16.h). The sums of every
// sixteen activations, which the format needs, are made once per stretch of rows and tile.
#pragma once

#include <algorithm>

#include "kernels/layouts/matmul_rows16.h"
#include "kernels/q6_k_matvec/rows16.h"

namespace steady::q6_k_matmul {

constexpr int kTile = 4;
constexpr std::int64_t kStretch =
    128;  // rows: a stretch of weights stays in the second-level cache

KERNEL_TARGET_BEGIN(KERNEL_AVX512_VNNI)

// The quants of one sub-block of 16 columns: w[g] holds columns 4g … 4g + 3.
[[gnu::always_inline]] inline void decode(const std::byte* quants, __m512i (&w)[4]) {
    constexpr int kOrAnd = 0xF8;  // first | (second & third)
    const __m512i nibble = _mm512_set1_epi8(15);
    const __m512i bits = _mm512_set1_epi8(0x30);
    const __m512i high = avx512::load(quants);
    const __m512i a = avx512::load(quants + 64);
    const __m512i b = avx512::load(quants + 128);
    const __m512i a_high = _mm512_and_si512(_mm512_srli_epi16(a, 4), nibble);
    const __m512i b_high = _mm512_and_si512(_mm512_srli_epi16(b, 4), nibble);
    w[0] = _mm512_ternarylogic_epi32(_mm512_and_si512(a, nibble), _mm512_slli_epi16(high, 4), bits,
                                     kOrAnd);
    w[1] = _mm512_ternarylogic_epi32(a_high, _mm512_slli_epi16(high, 2), bits, kOrAnd);
    w[2] = _mm512_ternarylogic_epi32(_mm512_and_si512(b, nibble), high, bits, kOrAnd);
    w[3] = _mm512_ternarylogic_epi32(b_high, _mm512_srli_epi16(high, 2), bits, kOrAnd);
}

using Sums = std::int32_t[kTile][sums16::kMaxCols / 16];

// kN vectors from v on, rows [begin, end) of one group.
template <int kN>
inline void tile(const MatmulArgs& args, std::int64_t begin, std::int64_t end, std::int64_t v,
                 Sums& minus_sums) {
    const MatmulShape& shape = args.shape;
    const std::int8_t* q8[kN];
    const float* scale[kN];
    for (int i = 0; i < kN; ++i) {
        q8[i] = args.x.q8 + args.x_row[v + i] * shape.cols;
        scale[i] = args.x.q8_scale + args.x_row[v + i] * (shape.cols / 32);
        sums16::fill(q8[i], shape.cols, -32, minus_sums[i]);
    }
    for (std::int64_t r = begin; r < end; r += matmul_rows16::kRows) {
        __m512 total[kN];
        for (int i = 0; i < kN; ++i) total[i] = _mm512_setzero_ps();
        for (std::int64_t b = 0; b < shape.cols / 256; ++b) {
            const std::byte* block =
                args.w + r * row_bytes(Type::q6_k, shape.cols) + b * q6_k_rows16::kBlockBytes;
            __m512 sum[kN];
            for (int i = 0; i < kN; ++i) sum[i] = _mm512_setzero_ps();
            for (int pair = 0; pair < 8; ++pair) {  // two sub-blocks share one scale of x
                const std::byte* quants = block + q6_k_rows16::kQuants + 384 * pair;
                __m512i w[2][4];
                decode(quants, w[0]);
                decode(quants + 192, w[1]);
                for (int i = 0; i < kN; ++i) {
                    __m512i part[2];
                    for (int s = 0; s < 2; ++s) {
                        const std::int8_t* x = q8[i] + b * 256 + pair * 32 + 16 * s;
                        __m512i q = _mm512_set1_epi32(minus_sums[i][b * 16 + pair * 2 + s]);
                        for (int g = 0; g < 4; ++g) {
                            q = _mm512_dpbusd_epi32(q, w[s][g], avx512::broadcast4(x + 4 * g));
                        }
                        part[s] =
                            _mm512_mullo_epi32(q, q6_k_rows16::scales_of(block, 2 * pair + s));
                    }
                    const __m512 exact = _mm512_cvtepi32_ps(_mm512_add_epi32(part[0], part[1]));
                    sum[i] = _mm512_fmadd_ps(exact, _mm512_set1_ps(scale[i][b * 8 + pair]), sum[i]);
                }
            }
            for (int i = 0; i < kN; ++i) {
                total[i] = _mm512_fmadd_ps(avx512::halves(block), sum[i], total[i]);
            }
        }
        for (int i = 0; i < kN; ++i) {
            _mm512_storeu_ps(args.y + args.y_row[v + i] * shape.rows + r % shape.rows, total[i]);
        }
    }
}

template <int kN>
inline void tiles(const MatmulArgs& args, std::int64_t begin, std::int64_t end, std::int64_t v,
                  std::int64_t last, Sums& minus_sums) {
    for (; last - v >= kN; v += kN) tile<kN>(args, begin, end, v, minus_sums);
    if constexpr (kN > 1) tiles<kN / 2>(args, begin, end, v, last, minus_sums);
}

inline void run(const MatmulArgs& args, Range range) noexcept {
    Sums minus_sums = {};
    for (std::int64_t r = range.begin; r < range.end;) {
        const std::int64_t group = r / args.shape.rows;
        const std::int64_t end = std::min({range.end, (group + 1) * args.shape.rows, r + kStretch});
        tiles<kTile>(args, r, end, args.first[group], args.first[group + 1], minus_sums);
        r = end;
    }
}

KERNEL_TARGET_END

}  // namespace steady::q6_k_matmul
