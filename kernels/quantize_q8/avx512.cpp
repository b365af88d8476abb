// Two registers hold a block of 32: one reduction for the largest, one division, one saturating
// narrow. Expected: several times the reference; too small a part of a token to show alone.
#include "kernels/simd/avx512.h"

#include "kernels/quantize_q8/op.h"
#include "kernels/simd/target.h"

namespace steady {

KERNEL_TARGET_BEGIN(KERNEL_AVX512)
namespace {

void run(const QuantizeQ8::Args& args, Range range) noexcept {
    for (std::int64_t b = range.begin; b < range.end; ++b) {
        avx512::quantize_block(_mm512_loadu_ps(args.x + 32 * b),
                               _mm512_loadu_ps(args.x + 32 * b + 16), args.q8 + 32 * b,
                               args.scale + b, args.sum + b);
    }
}

}  // namespace
KERNEL_TARGET_END

static const Variant<QuantizeQ8> variant{"avx512", {.needs = cpu::avx512, .run = run}};

}  // namespace steady
