// The sum of squares as a dot product of x with itself, then one pass of products.
// Expected: the choice without AVX-512.
#include "kernels/simd/avx2.h"

#include <cmath>

#include "kernels/rms_norm/op.h"
#include "kernels/simd/target.h"

namespace steady {

KERNEL_TARGET_BEGIN(KERNEL_AVX2)
namespace {

void run(const RmsNorm::Args& args, Range range) noexcept {
    if (range.begin >= range.end) return;
    const std::int64_t n = args.shape.n;
    const float mean = avx2::dot(args.x, args.x, n) / static_cast<float>(n);
    const __m256 scale = _mm256_set1_ps(1.0F / std::sqrt(mean + args.eps));
    for (std::int64_t i = 0; i < n; i += 8) {
        const __m256i mask = avx2::lanes(n - i);
        const __m256 x = _mm256_mul_ps(_mm256_maskload_ps(args.x + i, mask), scale);
        avx2::store(args.y + i, _mm256_mul_ps(x, _mm256_maskload_ps(args.w + i, mask)), n - i);
    }
}

}  // namespace
KERNEL_TARGET_END

static const Variant<RmsNorm> variant{"avx2", {.needs = cpu::avx2, .granule = kWhole, .run = run}};

}  // namespace steady
