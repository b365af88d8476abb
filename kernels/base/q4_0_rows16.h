// The layout "rows16" of Q4_0: sixteen rows side by side, so that a register lane is a row and the
// activations are broadcast. For each block of 32 columns: 16 scales, then four times 64 bytes;
// byte 4r + i of the j-th holds column 4j + i of row r in its low nibble and column 16 + 4j + i in
// its high one. It takes exactly the bytes of the GGUF layout.
#pragma once

#include <cstring>

#include "kernels/base/activation.h"
#include "kernels/base/avx512.h"
#include "kernels/base/formats.h"
#include "kernels/base/registry.h"

namespace steady::q4_0_rows16 {

constexpr std::int64_t kRows = 16;
constexpr std::int64_t kBlockBytes = 16 * sizeof(BlockQ4_0);

inline std::int64_t packed_bytes(MatrixShape shape) {
    return shape.rows * row_bytes(Type::q4_0, shape.cols);
}

void pack(MatrixShape shape, const std::byte* src, std::byte* dst);

KERNEL_TARGET_BEGIN(KERNEL_AVX512_VNNI)

// The dot products of 16 packed rows with x, one per lane. kAhead: bytes fetched ahead, 0 for none.
template <int kAhead = 0>
[[gnu::always_inline]] inline __m512 dot(const std::byte* rows, const std::int8_t* q8,
                                         const float* scale, const std::int32_t* sum,
                                         std::int64_t n_blocks) {
    const __m512i low = _mm512_set1_epi8(15);
    __m512 total = _mm512_setzero_ps();
    for (std::int64_t b = 0; b < n_blocks; ++b) {
        const std::byte* block = rows + b * kBlockBytes;
        __m512i even = _mm512_setzero_si512();
        __m512i odd = _mm512_setzero_si512();
        avx512::fetch<kAhead, 5>(block);
        for (int j = 0; j < 4; ++j) {
            const __m512i w = avx512::load(block + 32 + 64 * j);
            int x[2];
            std::memcpy(&x[0], q8 + 32 * b + 4 * j, 4);
            std::memcpy(&x[1], q8 + 32 * b + 16 + 4 * j, 4);
            even = _mm512_dpbusd_epi32(even, _mm512_and_si512(w, low), _mm512_set1_epi32(x[0]));
            odd = _mm512_dpbusd_epi32(odd, _mm512_and_si512(_mm512_srli_epi16(w, 4), low),
                                      _mm512_set1_epi32(x[1]));
        }
        // The quants are stored with 8 added: take it off again, 8 · Σx per block.
        const __m512i eight_sums = _mm512_set1_epi32(8 * sum[b]);
        const __m512i exact = _mm512_sub_epi32(_mm512_add_epi32(even, odd), eight_sums);
        const __m512 both = _mm512_mul_ps(avx512::halves(block), _mm512_set1_ps(scale[b]));
        total = _mm512_fmadd_ps(_mm512_cvtepi32_ps(exact), both, total);
    }
    return total;
}

// The same with the activations' second bytes: 256 * high + low, as one integer before the scale.
[[gnu::always_inline]] inline __m512 dot16(const std::byte* rows, const std::int8_t* q8,
                                           const std::int8_t* q8_low, const float* scale,
                                           const std::int32_t* sum16, std::int64_t n_blocks) {
    const __m512i nibble = _mm512_set1_epi8(15);
    __m512 total = _mm512_setzero_ps();
    for (std::int64_t b = 0; b < n_blocks; ++b) {
        const std::byte* block = rows + b * kBlockBytes;
        __m512i sum[4] = {_mm512_setzero_si512(), _mm512_setzero_si512(), _mm512_setzero_si512(),
                          _mm512_setzero_si512()};
        for (int j = 0; j < 4; ++j) {
            const __m512i w = avx512::load(block + 32 + 64 * j);
            const __m512i even = _mm512_and_si512(w, nibble);
            const __m512i odd = _mm512_and_si512(_mm512_srli_epi16(w, 4), nibble);
            int x[4];
            std::memcpy(&x[0], q8 + 32 * b + 4 * j, 4);
            std::memcpy(&x[1], q8 + 32 * b + 16 + 4 * j, 4);
            std::memcpy(&x[2], q8_low + 32 * b + 4 * j, 4);
            std::memcpy(&x[3], q8_low + 32 * b + 16 + 4 * j, 4);
            sum[0] = _mm512_dpbusd_epi32(sum[0], even, _mm512_set1_epi32(x[0]));
            sum[1] = _mm512_dpbusd_epi32(sum[1], odd, _mm512_set1_epi32(x[1]));
            sum[2] = _mm512_dpbusd_epi32(sum[2], even, _mm512_set1_epi32(x[2]));
            sum[3] = _mm512_dpbusd_epi32(sum[3], odd, _mm512_set1_epi32(x[3]));
        }
        const __m512i high = _mm512_slli_epi32(_mm512_add_epi32(sum[0], sum[1]), 8);
        const __m512i both = _mm512_add_epi32(high, _mm512_add_epi32(sum[2], sum[3]));
        const __m512i exact = _mm512_sub_epi32(both, _mm512_set1_epi32(8 * sum16[b]));
        const __m512 d = _mm512_mul_ps(avx512::halves(block), _mm512_set1_ps(scale[b] / 256.0F));
        total = _mm512_fmadd_ps(_mm512_cvtepi32_ps(exact), d, total);
    }
    return total;
}

KERNEL_TARGET_END

}  // namespace steady::q4_0_rows16
