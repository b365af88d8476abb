// As avx512_vnni_rows16_prefetch, as two memory streams half of the range apart that take turns
// after every 256 columns; each goes on where its last group of rows ended. The weights are fetched
// two kilobytes ahead, half as far as there. Expected: faster where memory is the bound.
#include <algorithm>

#include "kernels/q6_k_matvec/rows16.h"

namespace steady {

KERNEL_TARGET_BEGIN(KERNEL_AVX512_VNNI)
namespace {

using q6_k_rows16::kRows;

// Adds the products of 256 columns to y, as q6_k_rows16::dot does.
[[gnu::always_inline]] inline __m512 add_block(const std::byte* block, const std::int8_t* q8,
                                               const float* scale, const std::int32_t* minus_sums,
                                               __m512 y) {
    __m512 sum = _mm512_setzero_ps();
    for (int pair = 0; pair < 8; ++pair) {
        const std::byte* quants = block + q6_k_rows16::kQuants + 384 * pair;
        fetch<2048, 7>(quants);
        __m512i exact = _mm512_setzero_si512();
        for (int half = 0; half < 2; ++half) {
            const int sub = 2 * pair + half;
            exact = _mm512_add_epi32(
                exact, _mm512_mullo_epi32(q6_k_rows16::sub_block(quants + 192 * half, q8 + 16 * sub,
                                                                 minus_sums[sub]),
                                          q6_k_rows16::scales_of(block, sub)));
        }
        sum = _mm512_fmadd_ps(_mm512_cvtepi32_ps(exact), _mm512_set1_ps(scale[pair]), sum);
    }
    return _mm512_fmadd_ps(avx512::halves(block), sum, y);
}

void run(const Q6_KMatvec::Args& args, Range range) noexcept {
    const MatvecShape& shape = args.shape;
    const std::int64_t n_blocks = shape.cols / 256;
    std::int32_t minus_sums[sums16::kMaxCols / 16] = {};
    for (std::int64_t r = range.begin; r < range.end;) {  // one stretch for each x
        const std::int64_t n = std::min(range.end - r, shape.rows - r % shape.rows);
        const std::int64_t half = n / 2;
        const std::int64_t group = r / shape.rows;
        const std::int8_t* q8 = args.x.q8 + group * shape.cols;
        const float* scale = args.x.q8_scale + group * n_blocks * 8;
        sums16::fill(q8, shape.cols, -32, minus_sums);
        for (std::int64_t i = r; i < r + half; i += kRows) {
            __m512 y[2] = {_mm512_setzero_ps(), _mm512_setzero_ps()};
            for (std::int64_t b = 0; b < n_blocks; ++b) {
                for (int k = 0; k < 2; ++k) {
                    const std::byte* block =
                        args.w + (i + k * half) * n_blocks * 210 + b * q6_k_rows16::kBlockBytes;
                    y[k] = add_block(block, q8 + b * 256, scale + b * 8, minus_sums + b * 16, y[k]);
                }
            }
            _mm512_storeu_ps(args.y + i, y[0]);
            _mm512_storeu_ps(args.y + i + half, y[1]);
        }
        r += n;
    }
}

}  // namespace
KERNEL_TARGET_END

static const Variant<Q6_KMatvec> variant{"avx512_vnni_rows16_apart_prefetch",
                                         packed_options<Q6_KMatvec, kRows>(
                                             cpu::avx512_vnni, Input::q8, q6_k_rows16::pack,
                                             [](const MatvecShape& shape) {
                                                 return shape.rows % (2 * kRows) == 0 &&
                                                        shape.cols <= sums16::kMaxCols;
                                             },
                                             run, 2 * kRows)};

}  // namespace steady
