// Rows are decoded piece by piece into a small buffer, then multiplied with AVX2: decoding stays
// the plain, exact code, only the sums are fast. Expected: several times the reference; bound by
// the decoding.
#include "kernels/simd/avx2.h"

#include "kernels/other_matvec/op.h"
#include "kernels/simd/target.h"

namespace steady {

KERNEL_TARGET_BEGIN(KERNEL_AVX2)
namespace {

void run(const OtherMatvec::Args& args, Range range) noexcept {
    constexpr std::int64_t kPiece = 1024;  // values; a multiple of every block
    alignas(32) float piece[kPiece];
    const OtherMatvecShape& shape = args.shape;
    const std::int64_t stride = row_bytes(shape.type, shape.cols);
    for (std::int64_t r = range.begin; r < range.end; ++r) {
        const float* x = args.x.f32 + r / shape.rows * shape.cols;
        float sum = 0;
        for (std::int64_t c = 0; c < shape.cols; c += kPiece) {
            const std::int64_t n = shape.cols - c < kPiece ? shape.cols - c : kPiece;
            dequantize(shape.type, args.w + r * stride + row_bytes(shape.type, c), piece, n);
            sum += avx2::dot(piece, x + c, n);
        }
        args.y[r] = sum;
    }
}

}  // namespace
KERNEL_TARGET_END

static const Variant<OtherMatvec> variant{"avx2", {.needs = cpu::avx2, .run = run}};

}  // namespace steady
