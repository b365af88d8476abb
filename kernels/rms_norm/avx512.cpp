// Four partial sums of squares, one square root, one pass of products; the tail by mask.
// Expected: several times the reference; the op is a small but serial part of every block.
#include "kernels/simd/avx512.h"

#include "kernels/rms_norm/op.h"
#include "kernels/simd/target.h"

namespace steady {

KERNEL_TARGET_BEGIN(KERNEL_AVX512)
namespace {

void run(const RmsNorm::Args& args, Range range) noexcept {
    if (range.begin >= range.end) return;
    const std::int64_t n = args.shape.n;
    const std::int64_t whole = n / 16 * 16;
    const auto tail = static_cast<__mmask16>((1U << (n - whole)) - 1);
    const __m512 scale = avx512::inverse_rms(args.x, n, args.eps);
    for (std::int64_t i = 0; i < whole; i += 16) {
        const __m512 x = _mm512_mul_ps(_mm512_loadu_ps(args.x + i), scale);
        _mm512_storeu_ps(args.y + i, _mm512_mul_ps(x, _mm512_loadu_ps(args.w + i)));
    }
    const __m512 x = _mm512_mul_ps(_mm512_maskz_loadu_ps(tail, args.x + whole), scale);
    _mm512_mask_storeu_ps(args.y + whole, tail,
                          _mm512_mul_ps(x, _mm512_maskz_loadu_ps(tail, args.w + whole)));
}

}  // namespace
KERNEL_TARGET_END

static const Variant<RmsNorm> variant{"avx512",
                                      {.needs = cpu::avx512, .granule = kWhole, .run = run}};

}  // namespace steady
