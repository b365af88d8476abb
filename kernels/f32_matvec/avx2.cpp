// One row at a time with four partial sums.
// Expected: bound by memory, as the AVX-512 variant.
#include "kernels/simd/avx2.h"

#include "kernels/f32_matvec/op.h"
#include "kernels/simd/target.h"

namespace steady {

KERNEL_TARGET_BEGIN(KERNEL_AVX2)
namespace {

void run(const F32Matvec::Args& args, Range range) noexcept {
    const std::int64_t cols = args.shape.cols;
    const auto* w = reinterpret_cast<const float*>(args.w);
    for (std::int64_t r = range.begin; r < range.end; ++r) {
        args.y[r] = avx2::dot(w + r * cols, args.x.f32 + r / args.shape.rows * cols, cols);
    }
}

}  // namespace
KERNEL_TARGET_END

static const Variant<F32Matvec> variant{"avx2", {.needs = cpu::avx2, .run = run}};

}  // namespace steady
