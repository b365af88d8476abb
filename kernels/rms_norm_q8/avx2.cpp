// Each block of 32 is rounded to bytes while it is still in the first cache, with AVX2.
// Expected: the bits of avx2 rms_norm and quantize_q8, a call and a reading of the vector less;
// a fraction of a microsecond some 140 times a token.
#include "kernels/simd/avx2.h"

#include <cmath>

#include "kernels/rms_norm_q8/op.h"
#include "kernels/simd/target.h"

namespace steady {

KERNEL_TARGET_BEGIN(KERNEL_AVX2)
namespace {

void run(const RmsNormQ8::Args& args, Range range) noexcept {
    if (range.begin >= range.end) return;
    const std::int64_t n = args.shape.n;
    const float mean = avx2::dot(args.x, args.x, n) / static_cast<float>(n);
    const __m256 scale = _mm256_set1_ps(1.0F / std::sqrt(mean + args.eps));
    for (std::int64_t i = 0; i < n; i += 32) {
        for (std::int64_t k = i; k < i + 32; k += 8) {
            const __m256 x = _mm256_mul_ps(_mm256_loadu_ps(args.x + k), scale);
            _mm256_storeu_ps(args.y + k, _mm256_mul_ps(x, _mm256_loadu_ps(args.w + k)));
        }
        avx2::quantize_block(args.y + i, args.q8 + i, args.scale + i / 32, args.sum + i / 32);
    }
}

}  // namespace
KERNEL_TARGET_END

static const Variant<RmsNormQ8> variant{"avx2",
                                        {.needs = cpu::avx2, .granule = kWhole, .run = run}};

}  // namespace steady
