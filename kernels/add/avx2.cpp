// Eight values per step; the tail by mask.
// Expected: the choice without AVX-512, several times the reference's loop over doubles.
#include "kernels/simd/avx2.h"

#include "kernels/add/op.h"
#include "kernels/simd/target.h"

namespace steady {

KERNEL_TARGET_BEGIN(KERNEL_AVX2)
namespace {

void run(const Add::Args& args, Range range) noexcept {
    const __m256 scale = _mm256_set1_ps(args.scale);
    for (std::int64_t i = range.begin; i < range.end; i += 8) {
        const __m256i mask = avx2::lanes(range.end - i);
        const __m256 x = _mm256_maskload_ps(args.x + i, mask);
        const __m256 sum = _mm256_fmadd_ps(scale, x, _mm256_maskload_ps(args.y + i, mask));
        avx2::store(args.y + i, sum, range.end - i);
    }
}

}  // namespace
KERNEL_TARGET_END

static const Variant<Add> variant{"avx2", {.needs = cpu::avx2, .granule = 8, .run = run}};

}  // namespace steady
