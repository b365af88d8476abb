// Sixteen values per step with a polynomial exponential; the tail by mask.
// Expected: far ahead of the reference, whose exponential is a library call per value.
#include "kernels/simd/avx512.h"

#include "kernels/simd/target.h"
#include "kernels/swiglu/op.h"

namespace steady {

KERNEL_TARGET_BEGIN(KERNEL_AVX512)
namespace {

void run(const Swiglu::Args& args, Range range) noexcept {
    for (std::int64_t i = range.begin; i < range.end; i += 16) {
        const std::int64_t left = range.end - i;
        const auto mask = static_cast<__mmask16>(left >= 16 ? 0xFFFF : (1U << left) - 1);
        const __m512 h = avx512::swiglu(_mm512_maskz_loadu_ps(mask, args.gate + i),
                                        _mm512_maskz_loadu_ps(mask, args.up + i));
        _mm512_mask_storeu_ps(args.h + i, mask, h);
    }
}

}  // namespace
KERNEL_TARGET_END

static const Variant<Swiglu> variant{"avx512", {.needs = cpu::avx512, .granule = 16, .run = run}};

}  // namespace steady
