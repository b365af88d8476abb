// Four rows per pass: x is prepared once for four rows, and four memory streams run side by side.
// Expected: faster than two rows when the weights are cold, as more reads are under way at once.
#include "kernels/layouts/q4_0_vnni.h"
#include "kernels/q4_0_matvec/op.h"
#include "kernels/simd/target.h"

namespace steady {

KERNEL_TARGET_BEGIN(KERNEL_AVX512_VNNI)
namespace {

void run(const Q4_0Matvec::Args& args, Range range) noexcept {
    q4_0_vnni::matvec<4>(args.w, args.x, args.y, args.shape.rows, args.shape.cols / 32, range.begin,
                         range.end);
}

}  // namespace
KERNEL_TARGET_END

static const Variant<Q4_0Matvec> variant{
    "avx512_vnni_4row", {.needs = cpu::avx512_vnni, .granule = 4, .input = Input::q8, .run = run}};

}  // namespace steady
