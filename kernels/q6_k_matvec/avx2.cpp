// One row at a time with AVX2: 32 quants per register, |q| times x with q's sign, the two
// sub-blocks' scales applied to the halves of the 16-bit sums. Expected: the choice without
// AVX-512.
#include "kernels/simd/avx2.h"

#include "kernels/q6_k_matvec/op.h"
#include "kernels/simd/target.h"

namespace steady {

KERNEL_TARGET_BEGIN(KERNEL_AVX2)
namespace {

// The 6-bit quants of run 0 … 3 of a half block, less 32.
[[gnu::always_inline]] inline __m256i quants(const BlockQ6_K& block, int half, int run) {
    const __m256i bytes = avx2::load(block.ql + 64 * half + run % 2 * 32);
    const __m256i low =
        _mm256_and_si256(run < 2 ? bytes : _mm256_srli_epi16(bytes, 4), _mm256_set1_epi8(15));
    const __m256i high =
        _mm256_srl_epi16(avx2::load(block.qh + 32 * half), _mm_cvtsi32_si128(2 * run));
    const __m256i top = _mm256_slli_epi16(_mm256_and_si256(high, _mm256_set1_epi8(3)), 4);
    return _mm256_sub_epi8(_mm256_or_si256(low, top), _mm256_set1_epi8(32));
}

[[gnu::always_inline]] inline float dot(const std::byte* row, const std::int8_t* q8,
                                        const float* scale, std::int64_t n_blocks) {
    __m256 total = _mm256_setzero_ps();
    for (std::int64_t b = 0; b < n_blocks; ++b) {
        const auto& block = *reinterpret_cast<const BlockQ6_K*>(row + 210 * b);
        __m256 scaled = _mm256_setzero_ps();
        for (int part = 0; part < 8; ++part) {
            const std::int64_t at = 8 * b + part;
            const __m256i q = quants(block, part / 4, part % 4);
            const __m256i x = avx2::load(q8 + 32 * at);
            const __m256i pairs =
                _mm256_maddubs_epi16(_mm256_sign_epi8(q, q), _mm256_sign_epi8(x, q));
            const __m256i scales = _mm256_set_m128i(_mm_set1_epi16(block.scales[2 * part + 1]),
                                                    _mm_set1_epi16(block.scales[2 * part]));
            const __m256i exact = _mm256_madd_epi16(pairs, scales);
            scaled = _mm256_fmadd_ps(_mm256_cvtepi32_ps(exact), _mm256_set1_ps(scale[at]), scaled);
        }
        total = _mm256_fmadd_ps(_mm256_set1_ps(avx2::to_float(block.d)), scaled, total);
    }
    return avx2::sum(total);
}

void run(const Q6_KMatvec::Args& args, Range range) noexcept {
    const std::int64_t n_blocks = args.shape.cols / 256;
    for (std::int64_t r = range.begin; r < range.end; ++r) {
        const std::int64_t first = r / args.shape.rows * n_blocks * 8;
        args.y[r] = dot(args.w + r * n_blocks * 210, args.x.q8 + 32 * first,
                        args.x.q8_scale + first, n_blocks);
    }
}

}  // namespace
KERNEL_TARGET_END

static const Variant<Q6_KMatvec> variant{"avx2",
                                         {.needs = cpu::avx2, .input = Input::q8, .run = run}};

}  // namespace steady
