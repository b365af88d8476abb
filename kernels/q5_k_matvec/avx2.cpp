// One row at a time with AVX2: 32 quants of a sub-block per register, integer sums scaled by the
// sub-block's 6-bit scale, the mins taken with the activations' sums.
// Expected: the choice without AVX-512.
#include "kernels/simd/avx2.h"

#include "kernels/q5_k_matvec/op.h"
#include "kernels/simd/target.h"

namespace steady {

KERNEL_TARGET_BEGIN(KERNEL_AVX2)
namespace {

[[gnu::always_inline]] inline float dot(const std::byte* row, const std::int8_t* q8,
                                        const float* scale, const std::int32_t* sum,
                                        std::int64_t n_blocks) {
    const __m256i nibble = _mm256_set1_epi8(15);
    const __m256i bit0 = _mm256_set1_epi8(1);
    __m256 total = _mm256_setzero_ps();
    float taken = 0;
    for (std::int64_t b = 0; b < n_blocks; ++b) {
        const auto& block = *reinterpret_cast<const BlockQ5_K*>(row + 176 * b);
        const __m256i fifth = avx2::load(block.qh);
        __m256 scaled = _mm256_setzero_ps();
        float mins = 0;
        for (int s = 0; s < 8; ++s) {
            const std::int64_t at = 8 * b + s;
            const __m256i bytes = avx2::load(block.qs + s / 2 * 32);
            const __m256i low =
                _mm256_and_si256(s % 2 == 0 ? bytes : _mm256_srli_epi16(bytes, 4), nibble);
            const __m256i top = _mm256_slli_epi16(
                _mm256_and_si256(_mm256_srl_epi16(fifth, _mm_cvtsi32_si128(s)), bit0), 4);
            const __m256i exact = avx2::dot32(_mm256_or_si256(low, top), avx2::load(q8 + 32 * at));
            const ScaleMin sm = scale_min(block.scales, s);
            const __m256 factor = _mm256_set1_ps(scale[at] * static_cast<float>(sm.scale));
            scaled = _mm256_fmadd_ps(_mm256_cvtepi32_ps(exact), factor, scaled);
            mins += scale[at] * static_cast<float>(sum[at]) * static_cast<float>(sm.min);
        }
        total = _mm256_fmadd_ps(_mm256_set1_ps(avx2::to_float(block.d)), scaled, total);
        taken += avx2::to_float(block.dmin) * mins;
    }
    return avx2::sum(total) - taken;
}

void run(const Q5_KMatvec::Args& args, Range range) noexcept {
    const std::int64_t n_blocks = args.shape.cols / 256;
    for (std::int64_t r = range.begin; r < range.end; ++r) {
        const std::int64_t first = r / args.shape.rows * n_blocks * 8;
        args.y[r] = dot(args.w + r * n_blocks * 176, args.x.q8 + 32 * first,
                        args.x.q8_scale + first, args.x.q8_sum + first, n_blocks);
    }
}

}  // namespace
KERNEL_TARGET_END

static const Variant<Q5_KMatvec> variant{"avx2",
                                         {.needs = cpu::avx2, .input = Input::q8, .run = run}};

}  // namespace steady
