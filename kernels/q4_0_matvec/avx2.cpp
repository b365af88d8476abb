// One row at a time with AVX2: nibbles spread into a register, int8 products by maddubs.
// Expected: the best choice on a CPU without AVX-512; about a third of the packed VNNI kernel.
#include "kernels/simd/avx2.h"

#include "kernels/q4_0_matvec/op.h"
#include "kernels/simd/target.h"

namespace steady {

KERNEL_TARGET_BEGIN(KERNEL_AVX2)
namespace {

void run(const Q4_0Matvec::Args& args, Range range) noexcept {
    const std::int64_t n_blocks = args.shape.cols / 32;
    for (std::int64_t r = range.begin; r < range.end; ++r) {
        const std::int64_t first = r / args.shape.rows * n_blocks;
        args.y[r] = avx2::q4_0_dot(args.w + r * n_blocks * 18, args.x.q8 + 32 * first,
                                   args.x.q8_scale + first, n_blocks);
    }
}

}  // namespace
KERNEL_TARGET_END

static const Variant<Q4_0Matvec> variant{"avx2",
                                         {.needs = cpu::avx2, .input = Input::q8, .run = run}};

}  // namespace steady
