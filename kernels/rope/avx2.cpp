// Four pairs per register: sines and cosines twice each, the neighbours swapped, and one operation
// that subtracts at even places and adds at odd ones.
// Expected: the choice without AVX-512, several times the reference.
#include "kernels/simd/avx2.h"

#include <algorithm>

#include "kernels/rope/op.h"
#include "kernels/simd/target.h"

namespace steady {

KERNEL_TARGET_BEGIN(KERNEL_AVX2)
namespace {

// Of up to four angles, each twice.
[[gnu::always_inline]] inline __m256 twice(const float* at, std::int64_t left) {
    const __m256 four = _mm256_maskload_ps(at, avx2::lanes(std::min<std::int64_t>(left, 4)));
    return _mm256_permutevar8x32_ps(four, _mm256_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3));
}

void run(const Rope::Args& args, Range range) noexcept {
    const std::int64_t n_pairs = args.shape.n_rot / 2;
    for (std::int64_t i = 0; i < n_pairs; i += 4) {
        const std::int64_t left = n_pairs - i;
        const __m256i mask = avx2::lanes(2 * left);
        const __m256 cos = twice(args.cos + i, left);
        const __m256 sin = twice(args.sin + i, left);
        for (std::int64_t h = range.begin; h < range.end; ++h) {
            float* at = args.x + h * args.stride + 2 * i;
            const __m256 x = _mm256_maskload_ps(at, mask);
            const __m256 swapped = _mm256_permute_ps(x, 0xB1);
            avx2::store(at, _mm256_fmaddsub_ps(x, cos, _mm256_mul_ps(swapped, sin)), 2 * left);
        }
    }
}

}  // namespace
KERNEL_TARGET_END

static const Variant<Rope> variant{"avx2", {.needs = cpu::avx2, .run = run}};

}  // namespace steady
