// The matvec on the layout rows16 of Q6_K (rows16.h) with AVX2: a group of sixteen rows is two
// registers, which share the broadcasts of x. Two column groups' products fit sixteen bits
// (4 · 63 · 127), and one instruction widens them and multiplies by the sub-block's scale.
#pragma once

#include "kernels/q6_k_matvec/rows16.h"
#include "kernels/simd/avx2.h"
#include "kernels/simd/prefetch.h"

namespace steady::q6_k_rows16_avx2 {

using q6_k_rows16::kBlockBytes;
using q6_k_rows16::kQuants;
using q6_k_rows16::kRows;
using q6_k_rows16::kScales;

KERNEL_TARGET_BEGIN(KERNEL_AVX2)

// out[i] = -16 · Σ q8[16 i … 16 i + 16), for n values (a multiple of 32). It fits sixteen bits, and
// two of them take off the 32 that is added to each quant.
inline void fill_minus_sums(const std::int8_t* q8, std::int64_t n, std::int16_t* out) {
    for (std::int64_t i = 0; i < n; i += 16) {
        const __m128i x = _mm_loadu_si128(reinterpret_cast<const __m128i*>(q8 + i));
        const __m128i pairs = _mm_maddubs_epi16(_mm_set1_epi8(1), x);
        __m128i sums = _mm_madd_epi16(pairs, _mm_set1_epi16(-16));
        sums = _mm_add_epi32(sums, _mm_shuffle_epi32(sums, 0x4E));
        sums = _mm_add_epi32(sums, _mm_shuffle_epi32(sums, 0xB1));
        out[i / 16] = static_cast<std::int16_t>(_mm_cvtsi128_si32(sums));
    }
}

// The scale of each of eight rows, in both halves of its lane.
[[gnu::always_inline]] inline __m256i twice(const std::byte* scales) {
    const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(scales));
    return _mm256_cvtepi8_epi16(_mm_unpacklo_epi8(bytes, bytes));
}

// The quants of one sub-block of 16 columns, for eight rows: q[g] holds columns 4g … 4g + 3.
[[gnu::always_inline]] inline void decode(const std::byte* quants, __m256i* q) {
    const __m256i nibble = _mm256_set1_epi8(15);
    const __m256i bits = _mm256_set1_epi8(0x30);
    const __m256i high = avx2::load(quants);
    const __m256i a = avx2::load(quants + 64);
    const __m256i b = avx2::load(quants + 128);
    const __m256i low[4] = {a, _mm256_srli_epi16(a, 4), b, _mm256_srli_epi16(b, 4)};
    const __m256i top[4] = {_mm256_slli_epi16(high, 4), _mm256_slli_epi16(high, 2), high,
                            _mm256_srli_epi16(high, 2)};
    for (int g = 0; g < 4; ++g) {
        q[g] = _mm256_or_si256(_mm256_and_si256(low[g], nibble), _mm256_and_si256(top[g], bits));
    }
}

// scale · Σ (q - 32) · x over one sub-block, for eight rows.
[[gnu::always_inline]] inline __m256i sub_block(const std::byte* quants, const std::int8_t* x,
                                                __m256i minus_sum, __m256i scale) {
    __m256i q[4];
    decode(quants, q);
    __m256i sums[2];
    for (int k = 0; k < 2; ++k) {
        const std::int8_t* at = x + 8 * k;
        sums[k] = _mm256_add_epi16(_mm256_maddubs_epi16(q[2 * k], avx2::broadcast4(at)),
                                   _mm256_maddubs_epi16(q[2 * k + 1], avx2::broadcast4(at + 4)));
    }
    const __m256i exact =
        _mm256_add_epi32(_mm256_madd_epi16(sums[0], scale), _mm256_madd_epi16(sums[1], scale));
    return _mm256_add_epi32(exact, _mm256_madd_epi16(minus_sum, scale));
}

// The dot products of 16 packed rows with x.
template <int kAhead>
[[gnu::always_inline]] inline void dot(const std::byte* rows, const std::int8_t* q8,
                                       const float* scale, const std::int16_t* minus_sums,
                                       std::int64_t n_blocks, __m256* y) {
    y[0] = y[1] = _mm256_setzero_ps();
    for (std::int64_t b = 0; b < n_blocks; ++b) {
        const std::byte* block = rows + b * kBlockBytes;
        __m256 sum[2] = {_mm256_setzero_ps(), _mm256_setzero_ps()};
        for (int pair = 0; pair < 8; ++pair) {  // two sub-blocks share one scale of x
            __m256i exact[2] = {_mm256_setzero_si256(), _mm256_setzero_si256()};
            for (int sub = 2 * pair; sub < 2 * pair + 2; ++sub) {
                const std::byte* quants = block + kQuants + 192 * sub;
                fetch<kAhead, 3>(quants);
                const std::int8_t* x = q8 + b * 256 + 16 * sub;
                const __m256i minus_sum = _mm256_set1_epi16(minus_sums[b * 16 + sub]);
                for (int half = 0; half < 2; ++half) {
                    const __m256i scales = twice(block + kScales + 16 * sub + 8 * half);
                    exact[half] = _mm256_add_epi32(
                        exact[half], sub_block(quants + 32 * half, x, minus_sum, scales));
                }
            }
            const __m256 x_scale = _mm256_set1_ps(scale[b * 8 + pair]);
            for (int half = 0; half < 2; ++half) {
                sum[half] = _mm256_fmadd_ps(_mm256_cvtepi32_ps(exact[half]), x_scale, sum[half]);
            }
        }
        for (int half = 0; half < 2; ++half) {
            y[half] = _mm256_fmadd_ps(avx2::halves(block + 16 * half), sum[half], y[half]);
        }
    }
}

template <int kAhead>
void run(const Q6_KMatvec::Args& args, Range range) noexcept {
    const MatvecShape& shape = args.shape;
    const std::int64_t n_blocks = shape.cols / 256;
    std::int16_t minus_sums[sums16::kMaxCols / 16];
    std::int64_t prepared = -1;  // the group whose sums are in minus_sums
    for (std::int64_t r = range.begin; r < range.end; r += kRows) {
        const std::int64_t group = r / shape.rows;
        const std::int8_t* q8 = args.x.q8 + group * shape.cols;
        if (group != prepared) fill_minus_sums(q8, shape.cols, minus_sums);
        prepared = group;
        __m256 y[2];
        dot<kAhead>(args.w + r * n_blocks * 210, q8, args.x.q8_scale + group * n_blocks * 8,
                    minus_sums, n_blocks, y);
        for (int half = 0; half < 2; ++half) _mm256_storeu_ps(args.y + r + 8 * half, y[half]);
    }
}

KERNEL_TARGET_END

// kAhead: bytes of weights fetched ahead by software, 0 for none.
template <int kAhead>
VariantOptions<Q6_KMatvec> options() {
    VariantOptions<Q6_KMatvec> made = q6_k_rows16::options<0>();
    made.needs = cpu::avx2;
    made.run = run<kAhead>;
    return made;
}

}  // namespace steady::q6_k_rows16_avx2
