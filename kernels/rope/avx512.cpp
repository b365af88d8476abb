// Eight pairs per register: the neighbours are swapped, the sines take alternating signs, and one
// multiply-add does both halves of the rotation.
// Expected: several times the reference; a very small part of a token.
#include "kernels/simd/avx512.h"

#include "kernels/rope/op.h"
#include "kernels/simd/target.h"

namespace steady {

KERNEL_TARGET_BEGIN(KERNEL_AVX512)
namespace {

void run(const Rope::Args& args, Range range) noexcept {
    const __m512i twice = _mm512_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7);
    const std::int64_t n_pairs = args.shape.n_rot / 2;
    for (std::int64_t i = 0; i < n_pairs; i += 8) {
        const std::int64_t left = n_pairs - i;
        const auto pairs = static_cast<__mmask16>(left >= 8 ? 0xFF : (1U << left) - 1);
        const auto values = static_cast<__mmask16>(left >= 8 ? 0xFFFF : (1U << (2 * left)) - 1);
        const __m512 cos = _mm512_permutexvar_ps(twice, _mm512_maskz_loadu_ps(pairs, args.cos + i));
        __m512 sin = _mm512_permutexvar_ps(twice, _mm512_maskz_loadu_ps(pairs, args.sin + i));
        sin = _mm512_mask_sub_ps(sin, 0x5555, _mm512_setzero_ps(), sin);  // -sin at even places
        for (std::int64_t h = range.begin; h < range.end; ++h) {
            float* at = args.x + h * args.stride + 2 * i;
            const __m512 x = _mm512_maskz_loadu_ps(values, at);
            const __m512 swapped = _mm512_permute_ps(x, 0xB1);
            const __m512 y = _mm512_fmadd_ps(x, cos, _mm512_mul_ps(swapped, sin));
            _mm512_mask_storeu_ps(at, values, y);
        }
    }
}

}  // namespace
KERNEL_TARGET_END

static const Variant<Rope> variant{"avx512", {.needs = cpu::avx512, .run = run}};

}  // namespace steady
