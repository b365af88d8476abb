// Eight rows side by side (layout rows8) in 256-bit registers, dot products by VNNI: half the
// register of avx512_vnni_rows16, the same number of instructions per byte twice.
// Expected: behind avx512_vnni_rows16 when the weights are warm, beside it when they are cold; no
// lower clock on CPUs that slow down for 512 bits.
#include "kernels/layouts/q4_0_rows8.h"
#include "kernels/q4_0_matvec/op.h"

namespace steady {

KERNEL_TARGET_BEGIN(KERNEL_AVX512_VNNI)
namespace {

[[gnu::always_inline]] inline __m256i block_sums(const std::byte* block, const std::int8_t* q8) {
    const __m256i nibble = _mm256_set1_epi8(15);
    __m256i even = _mm256_setzero_si256();
    __m256i odd = _mm256_setzero_si256();
    for (int j = 0; j < 4; ++j) {
        const __m256i w = avx2::load(block + 16 + 32 * j);
        int four[2];
        std::memcpy(&four[0], q8 + 4 * j, 4);
        std::memcpy(&four[1], q8 + 16 + 4 * j, 4);
        even = _mm256_dpbusd_epi32(even, _mm256_and_si256(w, nibble), _mm256_set1_epi32(four[0]));
        odd = _mm256_dpbusd_epi32(odd, _mm256_and_si256(_mm256_srli_epi16(w, 4), nibble),
                                  _mm256_set1_epi32(four[1]));
    }
    return _mm256_add_epi32(even, odd);
}

void run(const Q4_0Matvec::Args& args, Range range) noexcept {
    const std::int64_t n_blocks = args.shape.cols / 32;
    const Activation& x = args.x;
    for (std::int64_t r = range.begin; r < range.end; r += q4_0_rows8::kRows) {
        const std::int64_t first = r / args.shape.rows * n_blocks;
        const std::byte* rows = args.w + r * n_blocks * 18;
        __m256 y = _mm256_setzero_ps();
        for (std::int64_t b = 0; b < n_blocks; ++b) {
            const std::byte* block = rows + b * q4_0_rows8::kBlockBytes;
            const std::int64_t at = first + b;
            const __m256i exact = _mm256_sub_epi32(block_sums(block, x.q8 + 32 * at),
                                                   _mm256_set1_epi32(8 * x.q8_sum[at]));
            y = _mm256_fmadd_ps(_mm256_cvtepi32_ps(exact),
                                q4_0_rows8::factors(block, x.q8_scale[at]), y);
        }
        _mm256_storeu_ps(args.y + r, y);
    }
}

}  // namespace
KERNEL_TARGET_END

static const Variant<Q4_0Matvec> variant{
    "avx512_vnni_rows8",
    q4_0_rows8::options<Q4_0Matvec>(
        cpu::avx512_vnni, Input::q8, q4_0_rows8::kRows,
        [](const MatvecShape& shape) { return shape.rows % q4_0_rows8::kRows == 0; }, run)};

}  // namespace steady
