// As avx512_vnni_rows16_prefetch, as two memory streams half of the range apart that take turns
// after every 256 columns; each goes on where its last group of rows ended. The weights are fetched
// two kilobytes ahead, half as far as there. Expected: faster where memory is the bound.
#include <algorithm>

#include "kernels/q6_k_matvec/rows16.h"

namespace steady {

KERNEL_TARGET_BEGIN(KERNEL_AVX512_VNNI)
namespace {

using q6_k_rows16::kRows;

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
                    __m512 part;
                    q6_k_rows16::dot<2048, 1>(block, q8 + b * 256, scale + b * 8,
                                              minus_sums + b * 16, 1, &part);
                    y[k] = _mm512_add_ps(y[k], part);
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
