// One row at a time with four partial sums, the tail by mask.
// Expected: bound by memory; the router's 64 rows are half a megabyte per block.
#include "kernels/simd/avx512.h"

#include "kernels/f32_matvec/op.h"
#include "kernels/simd/target.h"

namespace steady {

KERNEL_TARGET_BEGIN(KERNEL_AVX512)
namespace {

[[gnu::always_inline]] inline float dot(const float* w, const float* x, std::int64_t n) {
    __m512 a = _mm512_setzero_ps();
    __m512 b = _mm512_setzero_ps();
    __m512 c = _mm512_setzero_ps();
    __m512 d = _mm512_setzero_ps();
    std::int64_t i = 0;
    for (; i + 64 <= n; i += 64) {
        a = _mm512_fmadd_ps(_mm512_loadu_ps(w + i), _mm512_loadu_ps(x + i), a);
        b = _mm512_fmadd_ps(_mm512_loadu_ps(w + i + 16), _mm512_loadu_ps(x + i + 16), b);
        c = _mm512_fmadd_ps(_mm512_loadu_ps(w + i + 32), _mm512_loadu_ps(x + i + 32), c);
        d = _mm512_fmadd_ps(_mm512_loadu_ps(w + i + 48), _mm512_loadu_ps(x + i + 48), d);
    }
    for (; i < n; i += 16) {
        const auto mask = static_cast<__mmask16>(n - i >= 16 ? 0xFFFF : (1U << (n - i)) - 1);
        a = _mm512_fmadd_ps(_mm512_maskz_loadu_ps(mask, w + i), _mm512_maskz_loadu_ps(mask, x + i),
                            a);
    }
    return avx512::sum(_mm512_add_ps(_mm512_add_ps(a, b), _mm512_add_ps(c, d)));
}

void run(const F32Matvec::Args& args, Range range) noexcept {
    const std::int64_t cols = args.shape.cols;
    const auto* w = reinterpret_cast<const float*>(args.w);
    for (std::int64_t r = range.begin; r < range.end; ++r) {
        args.y[r] = dot(w + r * cols, args.x.f32 + r / args.shape.rows * cols, cols);
    }
}

}  // namespace
KERNEL_TARGET_END

static const Variant<F32Matvec> variant{"avx512", {.needs = cpu::avx512, .run = run}};

}  // namespace steady
