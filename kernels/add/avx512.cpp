// Sixteen values per step; the tail by mask.
// Expected: bound by the load and store units.
#include "kernels/simd/avx512.h"

#include "kernels/add/op.h"
#include "kernels/simd/target.h"

namespace steady {

KERNEL_TARGET_BEGIN(KERNEL_AVX512)
namespace {

void run(const Add::Args& args, Range range) noexcept {
    const __m512 scale = _mm512_set1_ps(args.scale);
    for (std::int64_t i = range.begin; i < range.end; i += 16) {
        const std::int64_t left = range.end - i;
        const auto mask = static_cast<__mmask16>(left >= 16 ? 0xFFFF : (1U << left) - 1);
        const __m512 y = _mm512_maskz_loadu_ps(mask, args.y + i);
        const __m512 x = _mm512_maskz_loadu_ps(mask, args.x + i);
        _mm512_mask_storeu_ps(args.y + i, mask, _mm512_fmadd_ps(scale, x, y));
    }
}

}  // namespace
KERNEL_TARGET_END

static const Variant<Add> variant{"avx512", {.needs = cpu::avx512, .granule = 16, .run = run}};

}  // namespace steady
