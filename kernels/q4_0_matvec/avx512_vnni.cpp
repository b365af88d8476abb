// One row at a time in the file's own layout: four blocks per register, dot products by VNNI.
// Expected: two to three times avx2; held back by collecting scales that lie 18 bytes apart.
#include "kernels/layouts/q4_0_vnni.h"
#include "kernels/q4_0_matvec/op.h"
#include "kernels/simd/target.h"

namespace steady {

KERNEL_TARGET_BEGIN(KERNEL_AVX512_VNNI)
namespace {

void run(const Q4_0Matvec::Args& args, Range range) noexcept {
    q4_0_vnni::matvec<1>(args.w, args.x, args.y, args.shape.rows, args.shape.cols / 32, range.begin,
                         range.end);
}

}  // namespace
KERNEL_TARGET_END

static const Variant<Q4_0Matvec> variant{
    "avx512_vnni", {.needs = cpu::avx512_vnni, .granule = 1, .input = Input::q8, .run = run}};

}  // namespace steady
