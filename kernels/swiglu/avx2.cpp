// Eight values per step with a polynomial exponential; the tail by mask.
// Expected: the choice without AVX-512.
#include "kernels/simd/avx2.h"

#include "kernels/simd/target.h"
#include "kernels/swiglu/op.h"

namespace steady {

KERNEL_TARGET_BEGIN(KERNEL_AVX2)
namespace {

void run(const Swiglu::Args& args, Range range) noexcept {
    for (std::int64_t i = range.begin; i < range.end; i += 8) {
        const __m256i mask = avx2::lanes(range.end - i);
        const __m256 h = avx2::swiglu(_mm256_maskload_ps(args.gate + i, mask),
                                      _mm256_maskload_ps(args.up + i, mask));
        avx2::store(args.h + i, h, range.end - i);
    }
}

}  // namespace
KERNEL_TARGET_END

static const Variant<Swiglu> variant{"avx2", {.needs = cpu::avx2, .granule = 8, .run = run}};

}  // namespace steady
