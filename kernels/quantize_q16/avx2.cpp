// As quantize_q8/avx2, with what the bytes left over rounded in turn.
// Expected: the choice without AVX-512.
#include "kernels/simd/avx2.h"

#include "kernels/quantize_q16/op.h"
#include "kernels/simd/target.h"

namespace steady {

KERNEL_TARGET_BEGIN(KERNEL_AVX2)
namespace {

void run(const QuantizeQ16::Args& args, Range range) noexcept {
    for (std::int64_t b = range.begin; b < range.end; ++b) {
        avx2::quantize_block16(args.x + 32 * b, args.q8 + 32 * b, args.low + 32 * b, args.scale + b,
                               args.sum16 + b);
    }
}

}  // namespace
KERNEL_TARGET_END

static const Variant<QuantizeQ16> variant{"avx2", {.needs = cpu::avx2, .run = run}};

}  // namespace steady
