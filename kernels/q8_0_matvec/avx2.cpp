// One row at a time with AVX2: |w| times x with w's sign.
// Expected: the best choice on a CPU without AVX-512.
#include "kernels/simd/avx2.h"

#include "kernels/q8_0_matvec/op.h"
#include "kernels/simd/target.h"

namespace steady {

KERNEL_TARGET_BEGIN(KERNEL_AVX2)
namespace {

[[gnu::always_inline]] inline float dot(const std::byte* row, const std::int8_t* q8,
                                        const float* scale, std::int64_t n_blocks) {
    __m256 sums[2] = {_mm256_setzero_ps(), _mm256_setzero_ps()};
    const __m256i ones = _mm256_set1_epi16(1);
    for (std::int64_t b = 0; b < n_blocks; ++b) {
        Half d;
        std::memcpy(&d, row + 34 * b, sizeof d);
        const __m256i w = avx2::load(row + 34 * b + 2);
        const __m256i x = avx2::load(q8 + 32 * b);
        // |w| may be 128, which is right as an unsigned byte; two products of 128 · 127 still fit.
        const __m256i pairs = _mm256_maddubs_epi16(_mm256_sign_epi8(w, w), _mm256_sign_epi8(x, w));
        const __m256i exact = _mm256_madd_epi16(pairs, ones);
        const __m256 factor = _mm256_set1_ps(avx2::to_float(d) * scale[b]);
        sums[b % 2] = _mm256_fmadd_ps(_mm256_cvtepi32_ps(exact), factor, sums[b % 2]);
    }
    return avx2::sum(_mm256_add_ps(sums[0], sums[1]));
}

void run(const Q8_0Matvec::Args& args, Range range) noexcept {
    const std::int64_t n_blocks = args.shape.cols / 32;
    for (std::int64_t r = range.begin; r < range.end; ++r) {
        const std::int64_t first = r / args.shape.rows * n_blocks;
        args.y[r] = dot(args.w + r * n_blocks * 34, args.x.q8 + 32 * first, args.x.q8_scale + first,
                        n_blocks);
    }
}

}  // namespace
KERNEL_TARGET_END

static const Variant<Q8_0Matvec> variant{"avx2",
                                         {.needs = cpu::avx2, .input = Input::q8, .run = run}};

}  // namespace steady
