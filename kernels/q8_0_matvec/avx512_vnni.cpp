// One row at a time in the file's own layout: a block per 256-bit register, w with 128 added as the
// unsigned side, the activations' sums taking it off again.
// Expected: near the packed layout, since the weights need no unpacking at all.
#include <cstring>

#include "kernels/q8_0_matvec/op.h"
#include "kernels/simd/avx512.h"
#include "kernels/simd/target.h"

namespace steady {

KERNEL_TARGET_BEGIN(KERNEL_AVX512_VNNI)
namespace {

[[gnu::always_inline]] inline float half_at(const std::byte* at) {
    std::uint16_t bits;
    std::memcpy(&bits, at, sizeof bits);
    return _cvtsh_ss(bits);
}

[[gnu::always_inline]] inline float dot(const std::byte* row, const std::int8_t* q8,
                                        const float* scale, const std::int32_t* sum,
                                        std::int64_t n_blocks) {
    const __m256i plus = _mm256_set1_epi8(-128);
    __m256 sums[2] = {_mm256_setzero_ps(), _mm256_setzero_ps()};
    for (std::int64_t b = 0; b < n_blocks; ++b) {
        const std::byte* block = row + 34 * b;
        const __m256i w = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(block + 2));
        const __m256i x = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(q8 + 32 * b));
        const __m256i minus = _mm256_zextsi128_si256(_mm_cvtsi32_si128(-128 * sum[b]));
        const __m256i exact = _mm256_dpbusd_epi32(minus, _mm256_xor_si256(w, plus), x);
        const __m256 factor = _mm256_set1_ps(half_at(block) * scale[b]);
        sums[b % 2] = _mm256_fmadd_ps(_mm256_cvtepi32_ps(exact), factor, sums[b % 2]);
    }
    const __m256 total = _mm256_add_ps(sums[0], sums[1]);
    __m128 half = _mm_add_ps(_mm256_castps256_ps128(total), _mm256_extractf128_ps(total, 1));
    half = _mm_add_ps(half, _mm_movehl_ps(half, half));
    return _mm_cvtss_f32(_mm_add_ss(half, _mm_shuffle_ps(half, half, 1)));
}

void run(const Q8_0Matvec::Args& args, Range range) noexcept {
    const std::int64_t n_blocks = args.shape.cols / 32;
    for (std::int64_t r = range.begin; r < range.end; ++r) {
        const std::int64_t first = r / args.shape.rows * n_blocks;
        args.y[r] = dot(args.w + r * n_blocks * 34, args.x.q8 + 32 * first, args.x.q8_scale + first,
                        args.x.q8_sum + first, n_blocks);
    }
}

}  // namespace
KERNEL_TARGET_END

static const Variant<Q8_0Matvec> variant{
    "avx512_vnni", {.needs = cpu::avx512_vnni, .input = Input::q8, .run = run}};

}  // namespace steady
