// The matvec on the layout rows16 of Q5_K (rows16.h) with AVX2: a group of sixteen rows is two
// registers, which share the broadcasts of x. Four column groups' products fit sixteen bits
// (8 · 31 · 127), and one instruction widens them and multiplies by the sub-block's scale.
#pragma once

#include "kernels/q5_k_matvec/rows16.h"
#include "kernels/simd/avx2.h"
#include "kernels/simd/prefetch.h"

namespace steady::q5_k_rows16_avx2 {

using q5_k_rows16::kBlockBytes;
using q5_k_rows16::kPlanes;
using q5_k_rows16::kQuants;
using q5_k_rows16::kRows;

KERNEL_TARGET_BEGIN(KERNEL_AVX2)

[[gnu::always_inline]] inline void store(std::uint8_t* at, __m256i v) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(at), v);
}

// Scales and mins of the eight sub-blocks, 16 rows each, as bytes.
[[gnu::always_inline]] inline void decode_scales(const std::byte* planes, std::uint8_t* scales,
                                                 std::uint8_t* mins) {
    const __m256i six = _mm256_set1_epi8(63);
    const __m256i four = _mm256_set1_epi8(15);
    const __m256i top = _mm256_set1_epi8(0x30);
    for (int half = 0; half < 64; half += 32) {
        const __m256i a = avx2::load(planes + half);        // bytes 0 … 3 of each row
        const __m256i b = avx2::load(planes + 64 + half);   // bytes 4 … 7
        const __m256i c = avx2::load(planes + 128 + half);  // bytes 8 … 11
        const __m256i late_scales = _mm256_or_si256(_mm256_and_si256(c, four),
                                                    _mm256_and_si256(_mm256_srli_epi16(a, 2), top));
        const __m256i late_mins = _mm256_or_si256(_mm256_and_si256(_mm256_srli_epi16(c, 4), four),
                                                  _mm256_and_si256(_mm256_srli_epi16(b, 2), top));
        store(scales + half, _mm256_and_si256(a, six));
        store(scales + 64 + half, late_scales);
        store(mins + half, _mm256_and_si256(b, six));
        store(mins + 64 + half, late_mins);
    }
}

// The scale of each of eight rows, in both halves of its lane.
[[gnu::always_inline]] inline __m256i twice(const std::uint8_t* scales) {
    const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(scales));
    return _mm256_cvtepu8_epi16(_mm_unpacklo_epi8(bytes, bytes));
}

[[gnu::always_inline]] inline __m256 floats(const std::uint8_t* eight) {
    return _mm256_cvtepi32_ps(
        _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(eight))));
}

// The quants of one sub-block of 32 columns, for eight rows: q[g] holds columns 4g … 4g + 3.
[[gnu::always_inline]] inline void decode(const std::byte* quants, __m256i* q) {
    const __m256i nibble = _mm256_set1_epi8(15);
    const __m256i bit4 = _mm256_set1_epi8(16);
    const __m256i fifth = avx2::load(quants);  // bit g moves to bit 4
    const __m256i top[8] = {_mm256_slli_epi16(fifth, 4),
                            _mm256_slli_epi16(fifth, 3),
                            _mm256_slli_epi16(fifth, 2),
                            _mm256_slli_epi16(fifth, 1),
                            fifth,
                            _mm256_srli_epi16(fifth, 1),
                            _mm256_srli_epi16(fifth, 2),
                            _mm256_srli_epi16(fifth, 3)};
    for (int pair = 0; pair < 4; ++pair) {
        const __m256i both = avx2::load(quants + 64 + 64 * pair);
        const __m256i low = _mm256_and_si256(both, nibble);
        const __m256i high = _mm256_and_si256(_mm256_srli_epi16(both, 4), nibble);
        q[2 * pair] = _mm256_or_si256(low, _mm256_and_si256(top[2 * pair], bit4));
        q[2 * pair + 1] = _mm256_or_si256(high, _mm256_and_si256(top[2 * pair + 1], bit4));
    }
}

// scale · Σ q · x over one sub-block. Four column groups fit sixteen bits.
[[gnu::always_inline]] inline __m256i times(const __m256i* q, const std::int8_t* x, __m256i scale) {
    __m256i sums[2] = {_mm256_setzero_si256(), _mm256_setzero_si256()};
    for (int g = 0; g < 8; ++g) {
        const __m256i pairs = _mm256_maddubs_epi16(q[g], avx2::broadcast4(x + 4 * g));
        sums[g / 4] = _mm256_add_epi16(sums[g / 4], pairs);
    }
    return _mm256_add_epi32(_mm256_madd_epi16(sums[0], scale), _mm256_madd_epi16(sums[1], scale));
}

// The dot products of 16 packed rows with x.
template <int kAhead>
[[gnu::always_inline]] inline void dot(const std::byte* rows, const std::int8_t* q8,
                                       const float* scale, const std::int32_t* sum,
                                       std::int64_t n_blocks, __m256* y) {
    alignas(32) std::uint8_t scales[128];
    alignas(32) std::uint8_t mins[128];
    y[0] = y[1] = _mm256_setzero_ps();
    for (std::int64_t b = 0; b < n_blocks; ++b) {
        const std::byte* block = rows + b * kBlockBytes;
        decode_scales(block + kPlanes, scales, mins);
        __m256 scaled[2] = {_mm256_setzero_ps(), _mm256_setzero_ps()};
        __m256 taken[2] = {_mm256_setzero_ps(), _mm256_setzero_ps()};
        for (int s = 0; s < 8; ++s) {
            const std::int64_t at = b * 8 + s;
            const std::byte* quants = block + kQuants + 320 * s;
            fetch<kAhead, 5>(quants);
            const __m256 x_scale = _mm256_set1_ps(scale[at]);
            const __m256 x_sum = _mm256_set1_ps(scale[at] * static_cast<float>(sum[at]));
            for (int half = 0; half < 2; ++half) {
                const int rows_at = 16 * s + 8 * half;
                __m256i q[8];
                decode(quants + 32 * half, q);
                const __m256i product = times(q, q8 + at * 32, twice(scales + rows_at));
                scaled[half] = _mm256_fmadd_ps(_mm256_cvtepi32_ps(product), x_scale, scaled[half]);
                taken[half] = _mm256_fmadd_ps(floats(mins + rows_at), x_sum, taken[half]);
            }
        }
        for (int half = 0; half < 2; ++half) {
            y[half] = _mm256_fmadd_ps(avx2::halves(block + 16 * half), scaled[half], y[half]);
            y[half] = _mm256_fnmadd_ps(avx2::halves(block + 32 + 16 * half), taken[half], y[half]);
        }
    }
}

template <int kAhead>
void run(const Q5_KMatvec::Args& args, Range range) noexcept {
    const MatvecShape& shape = args.shape;
    const std::int64_t n_blocks = shape.cols / 256;
    for (std::int64_t r = range.begin; r < range.end; r += kRows) {
        const std::int64_t first = r / shape.rows * n_blocks * 8;
        __m256 y[2];
        dot<kAhead>(args.w + r * n_blocks * 176, args.x.q8 + first * 32, args.x.q8_scale + first,
                    args.x.q8_sum + first, n_blocks, y);
        for (int half = 0; half < 2; ++half) _mm256_storeu_ps(args.y + r + 8 * half, y[half]);
    }
}

KERNEL_TARGET_END

// kAhead: bytes of weights fetched ahead by software, 0 for none.
template <int kAhead>
VariantOptions<Q5_KMatvec> options() {
    VariantOptions<Q5_KMatvec> made = q5_k_rows16::options<0>();
    made.needs = cpu::avx2;
    made.run = run<kAhead>;
    return made;
}

}  // namespace steady::q5_k_rows16_avx2
