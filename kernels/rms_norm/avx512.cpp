// Four partial sums of squares, one square root, one pass of products; the tail by mask.
// Expected: several times the reference; the op is a small but serial part of every block.
#include "kernels/base/avx512.h"

#include <cmath>

#include "kernels/base/target.h"
#include "kernels/rms_norm/op.h"

namespace steady {

KERNEL_TARGET_BEGIN(KERNEL_AVX512)
namespace {

void run(const RmsNorm::Args& args, Range range) noexcept {
    if (range.begin >= range.end) return;
    const std::int64_t n = args.shape.n;
    const std::int64_t whole = n / 16 * 16;
    const auto tail = static_cast<__mmask16>((1U << (n - whole)) - 1);
    __m512 sums[4] = {_mm512_setzero_ps(), _mm512_setzero_ps(), _mm512_setzero_ps(),
                      _mm512_setzero_ps()};
    for (std::int64_t i = 0; i < whole; i += 16) {
        const __m512 x = _mm512_loadu_ps(args.x + i);
        sums[i / 16 % 4] = _mm512_fmadd_ps(x, x, sums[i / 16 % 4]);
    }
    const __m512 last = _mm512_maskz_loadu_ps(tail, args.x + whole);
    sums[0] = _mm512_fmadd_ps(last, last, sums[0]);
    const float squares = avx512::sum(
        _mm512_add_ps(_mm512_add_ps(sums[0], sums[1]), _mm512_add_ps(sums[2], sums[3])));
    const float root = std::sqrt(squares / static_cast<float>(n) + args.eps);
    const __m512 scale = _mm512_set1_ps(1.0F / root);
    for (std::int64_t i = 0; i < whole; i += 16) {
        const __m512 x = _mm512_mul_ps(_mm512_loadu_ps(args.x + i), scale);
        _mm512_storeu_ps(args.y + i, _mm512_mul_ps(x, _mm512_loadu_ps(args.w + i)));
    }
    const __m512 y =
        _mm512_mul_ps(_mm512_mul_ps(last, scale), _mm512_maskz_loadu_ps(tail, args.w + whole));
    _mm512_mask_storeu_ps(args.y + whole, tail, y);
}

}  // namespace
KERNEL_TARGET_END

static const Variant<RmsNorm> variant{"avx512",
                                      {.needs = cpu::avx512, .granule = kWhole, .run = run}};

}  // namespace steady
