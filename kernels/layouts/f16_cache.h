// Weights made half floats once, when they are packed, and multiplied as floats: the cache that the
// seeds asked about for shared experts, against decoding the quants each time. Layout "f16": row
// after row, two bytes per value.
#pragma once

#include "kernels/formats/formats.h"
#include "kernels/matrix/matvec.h"
#include "kernels/simd/avx512.h"

namespace steady::f16_cache {

inline std::int64_t packed_bytes(MatrixShape shape) { return 2 * shape.rows * shape.cols; }

KERNEL_TARGET_BEGIN(KERNEL_AVX512)

template <Type kType>
void pack(MatrixShape shape, const std::byte* src, std::byte* dst) {
    constexpr std::int64_t kStep = 256;  // cols is a multiple of it
    alignas(64) float values[kStep];
    const std::int64_t n = shape.rows * shape.cols;
    for (std::int64_t i = 0; i < n; i += kStep) {
        dequantize(kType, src + row_bytes(kType, i), values, kStep);
        for (std::int64_t k = 0; k < kStep; k += 16) {
            const __m256i half = _mm512_cvtps_ph(_mm512_load_ps(values + k),
                                                 _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
            _mm256_storeu_si256(reinterpret_cast<__m256i*>(dst + 2 * (i + k)), half);
        }
    }
}

inline void run(const MatvecArgs& args, Range range) noexcept {
    const std::int64_t cols = args.shape.cols;
    for (std::int64_t r = range.begin; r < range.end; ++r) {
        const float* x = args.x.f32 + r / args.shape.rows * cols;
        const std::byte* row = args.w + 2 * r * cols;
        __m512 sums[4] = {_mm512_setzero_ps(), _mm512_setzero_ps(), _mm512_setzero_ps(),
                          _mm512_setzero_ps()};
        for (std::int64_t c = 0; c < cols; c += 64) {
            for (int k = 0; k < 4; ++k) {
                sums[k] = _mm512_fmadd_ps(avx512::halves(row + 2 * (c + 16 * k)),
                                          _mm512_loadu_ps(x + c + 16 * k), sums[k]);
            }
        }
        args.y[r] = avx512::sum(
            _mm512_add_ps(_mm512_add_ps(sums[0], sums[1]), _mm512_add_ps(sums[2], sums[3])));
    }
}

KERNEL_TARGET_END

// For the K-quant ops, whose rows are multiples of 256 values.
template <class Op>
VariantOptions<Op> options() {
    return {.needs = cpu::avx512,
            .input = Input::f32,
            .layout = "f16",
            .packed_bytes = packed_bytes,
            .pack = pack<Op::type>,
            .weight_rounding = 0x1p-11,
            .run = run};
}

}  // namespace steady::f16_cache
