// Sixteen rows side by side (rows16.h): a register lane is a row, activations are broadcast.
// Expected: bound by memory.
#include "kernels/q8_0_matvec/rows16.h"
#include "kernels/simd/avx512.h"
#include "kernels/simd/target.h"

namespace steady {
using q8_0_rows16::kBlockBytes;
using q8_0_rows16::kRows;

KERNEL_TARGET_BEGIN(KERNEL_AVX512_VNNI)
namespace {

[[gnu::always_inline]] inline __m512 dot(const std::byte* rows, const std::int8_t* q8,
                                         const float* scale, const std::int32_t* sum,
                                         std::int64_t n_blocks) {
    __m512 total = _mm512_setzero_ps();
    for (std::int64_t b = 0; b < n_blocks; ++b) {
        const std::byte* block = rows + b * kBlockBytes;
        __m512i parts[2] = {_mm512_set1_epi32(-128 * sum[b]), _mm512_setzero_si512()};
        for (int j = 0; j < 8; ++j) {
            int four;
            std::memcpy(&four, q8 + 32 * b + 4 * j, 4);
            parts[j % 2] = _mm512_dpbusd_epi32(parts[j % 2], avx512::load(block + 32 + 64 * j),
                                               _mm512_set1_epi32(four));
        }
        const __m512 both = _mm512_mul_ps(avx512::halves(block), _mm512_set1_ps(scale[b]));
        const __m512i exact = _mm512_add_epi32(parts[0], parts[1]);
        total = _mm512_fmadd_ps(_mm512_cvtepi32_ps(exact), both, total);
    }
    return total;
}

void run(const Q8_0Matvec::Args& args, Range range) noexcept {
    const MatvecShape& shape = args.shape;
    const std::int64_t n_blocks = shape.cols / 32;
    for (std::int64_t r = range.begin; r < range.end; r += kRows) {
        const std::int64_t first = r / shape.rows * n_blocks;
        const __m512 y = dot(args.w + r * n_blocks * 34, args.x.q8 + first * 32,
                             args.x.q8_scale + first, args.x.q8_sum + first, n_blocks);
        _mm512_storeu_ps(args.y + r, y);
    }
}

}  // namespace
KERNEL_TARGET_END

static const Variant<Q8_0Matvec> variant{"avx512_vnni_rows16",
                                         q8_0_rows16::options(cpu::avx512_vnni, run)};

}  // namespace steady
