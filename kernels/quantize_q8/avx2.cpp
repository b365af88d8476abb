// Four registers hold a block of 32; two saturating narrows and one permutation bring it to bytes.
// Expected: the choice without AVX-512.
#include "kernels/simd/avx2.h"

#include "kernels/quantize_q8/op.h"
#include "kernels/simd/target.h"

namespace steady {

KERNEL_TARGET_BEGIN(KERNEL_AVX2)
namespace {

void run(const QuantizeQ8::Args& args, Range range) noexcept {
    for (std::int64_t b = range.begin; b < range.end; ++b) {
        avx2::quantize_block(args.x + 32 * b, args.q8 + 32 * b, args.scale + b, args.sum + b);
    }
}

}  // namespace
KERNEL_TARGET_END

static const Variant<QuantizeQ8> variant{"avx2", {.needs = cpu::avx2, .run = run}};

}  // namespace steady
