// Two rows per pass: each four blocks of x are put in order once and used twice.
// Expected: faster than avx512_vnni by the cost of preparing x; more parallel memory streams.
#include "kernels/layouts/q4_0_vnni.h"
#include "kernels/q4_0_matvec/op.h"
#include "kernels/simd/target.h"

namespace steady {

KERNEL_TARGET_BEGIN(KERNEL_AVX512_VNNI)
namespace {

void run(const Q4_0Matvec::Args& args, Range range) noexcept {
    q4_0_vnni::matvec<2>(args.w, args.x, args.y, args.shape.rows, args.shape.cols / 32, range.begin,
                         range.end);
}

}  // namespace
KERNEL_TARGET_END

static const Variant<Q4_0Matvec> variant{
    "avx512_vnni_2row", {.needs = cpu::avx512_vnni, .granule = 2, .input = Input::q8, .run = run}};

}  // namespace steady
