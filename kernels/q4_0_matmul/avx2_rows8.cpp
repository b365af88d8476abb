// As the matvec of this name, for tiles of four vectors: the same bits, nibbles taken apart once
// per tile and weights read from memory once per batch. Expected: two to three times the matvec's
// tokens per second, since arithmetic becomes the bound.
#include "kernels/base/matmul_avx2.h"
#include "kernels/base/q4_0_rows8.h"
#include "kernels/q4_0_matmul/op.h"

namespace steady {

KERNEL_TARGET_BEGIN(KERNEL_AVX2)
namespace {

struct Dot {
    static constexpr Type kType = Type::q4_0;
    static constexpr Input kInput = Input::q8;
    static constexpr int kRows = q4_0_rows8::kRows;
    static constexpr int kMost = 4;

    template <int kN>
    static void run(const std::byte* rows, int /*first*/, const std::array<MatmulVector, kN>& x,
                    std::int64_t cols, __m256* y) {
        const __m256i nibble = _mm256_set1_epi8(15);
        __m256 total[kN];
        for (int i = 0; i < kN; ++i) total[i] = _mm256_setzero_ps();
        for (std::int64_t b = 0; b < cols / 32; ++b) {
            const std::byte* block = rows + b * q4_0_rows8::kBlockBytes;
            __m256i pairs[kN];
            for (int i = 0; i < kN; ++i) pairs[i] = _mm256_setzero_si256();
// Unrolled by GCC 12 it would keep sums on the stack.
#pragma GCC unroll 1
            for (int j = 0; j < 4; ++j) {
                const __m256i w = avx2::load(block + 16 + 32 * j);
                const __m256i even = _mm256_and_si256(w, nibble);
                const __m256i odd = _mm256_and_si256(_mm256_srli_epi16(w, 4), nibble);
                for (std::size_t i = 0; i < kN; ++i) {
                    const std::int8_t* q8 = x[i].q8 + 32 * b + 4 * j;
                    const __m256i low = _mm256_maddubs_epi16(even, avx2::broadcast4(q8));
                    const __m256i high = _mm256_maddubs_epi16(odd, avx2::broadcast4(q8 + 16));
                    pairs[i] = _mm256_add_epi16(pairs[i], _mm256_add_epi16(low, high));
                }
            }
            for (std::size_t i = 0; i < kN; ++i) {
                // The quants are stored with 8 added.
                const __m256i exact =
                    _mm256_sub_epi32(_mm256_madd_epi16(pairs[i], _mm256_set1_epi16(1)),
                                     _mm256_set1_epi32(8 * x[i].sum[b]));
                total[i] = _mm256_fmadd_ps(_mm256_cvtepi32_ps(exact),
                                           q4_0_rows8::factors(block, x[i].scale[b]), total[i]);
            }
        }
        for (int i = 0; i < kN; ++i) y[i] = total[i];
    }
};

}  // namespace
KERNEL_TARGET_END

static const Variant<Q4_0Matmul> variant{
    "avx2_rows8", matmul_avx2::options<Q4_0Matmul, Dot>("rows8", q4_0_rows8::pack)};

}  // namespace steady
