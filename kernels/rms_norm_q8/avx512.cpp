// Each block of 32 is rounded to bytes while its products are still in registers.
// Expected: the bits of avx512 rms_norm and quantize_q8, without the second reading of the vector
// and the second call; some 140 times a token, a fraction of a microsecond each.
#include "kernels/simd/avx512.h"

#include "kernels/rms_norm_q8/op.h"
#include "kernels/simd/target.h"

namespace steady {

KERNEL_TARGET_BEGIN(KERNEL_AVX512)
namespace {

void run(const RmsNormQ8::Args& args, Range range) noexcept {
    if (range.begin >= range.end) return;
    const std::int64_t n = args.shape.n;
    const __m512 scale = avx512::inverse_rms(args.x, n, args.eps);
    for (std::int64_t i = 0; i < n; i += 32) {
        const __m512 low = _mm512_mul_ps(_mm512_mul_ps(_mm512_loadu_ps(args.x + i), scale),
                                         _mm512_loadu_ps(args.w + i));
        const __m512 high = _mm512_mul_ps(_mm512_mul_ps(_mm512_loadu_ps(args.x + i + 16), scale),
                                          _mm512_loadu_ps(args.w + i + 16));
        _mm512_storeu_ps(args.y + i, low);
        _mm512_storeu_ps(args.y + i + 16, high);
        avx512::quantize_block(low, high, args.q8 + i, args.scale + i / 32, args.sum + i / 32);
    }
}

}  // namespace
KERNEL_TARGET_END

static const Variant<RmsNormQ8> variant{"avx512",
                                        {.needs = cpu::avx512, .granule = kWhole, .run = run}};

}  // namespace steady
