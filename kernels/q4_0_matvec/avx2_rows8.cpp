// Eight rows side by side (layout rows8) with AVX2: a lane is a row, so there is no horizontal sum,
// one scale load serves eight rows, and a block widens from sixteen bits only once.
// Expected: at least twice avx2, and the best choice on a CPU without AVX-512.
#include "kernels/base/q4_0_rows8.h"
#include "kernels/q4_0_matvec/op.h"

namespace steady {

KERNEL_TARGET_BEGIN(KERNEL_AVX2)
namespace {

void run(const Q4_0Matvec::Args& args, Range range) noexcept {
    const std::int64_t n_blocks = args.shape.cols / 32;
    for (std::int64_t r = range.begin; r < range.end; r += q4_0_rows8::kRows) {
        const std::int64_t first = r / args.shape.rows * n_blocks;
        const __m256 y = q4_0_rows8::dot(args.w + r * n_blocks * 18, args.x, first, n_blocks);
        _mm256_storeu_ps(args.y + r, y);
    }
}

}  // namespace
KERNEL_TARGET_END

static const Variant<Q4_0Matvec> variant{
    "avx2_rows8",
    q4_0_rows8::options<Q4_0Matvec>(
        cpu::avx2, q4_0_rows8::kRows,
        [](const MatvecShape& shape) { return shape.rows % q4_0_rows8::kRows == 0; }, run)};

}  // namespace steady
