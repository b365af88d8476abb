// As the matvec of this name, for tiles of four vectors: the same bits, weights read from memory
// once per batch. Expected: up to twice the matvec's tokens per second.
#include "kernels/layouts/matmul_avx2.h"
#include "kernels/q8_0_matmul/op.h"
#include "kernels/q8_0_matvec/rows16.h"

namespace steady {

KERNEL_TARGET_BEGIN(KERNEL_AVX2)
namespace {

struct Dot {
    static constexpr Type kType = Type::q8_0;
    static constexpr Input kInput = Input::q8;
    static constexpr int kRows = q8_0_rows16::kRows;
    static constexpr int kMost = 4;

    template <int kN>
    static void run(const std::byte* rows, int first, const std::array<MatmulVector, kN>& x,
                    std::int64_t cols, __m256* y) {
        for (int i = 0; i < kN; ++i) y[i] = _mm256_setzero_ps();
        for (std::int64_t b = 0; b < cols / 32; ++b) {
            const std::byte* block = rows + b * q8_0_rows16::kBlockBytes;
            __m256i sums[kN];
            for (int i = 0; i < kN; ++i) sums[i] = _mm256_setzero_si256();
            for (int j = 0; j < 8; ++j) {
                // Stored with 128 added; the sign moves to x, as in the matvec.
                const __m256i stored = avx2::load(block + 32 + 64 * j + 4 * first);
                const __m256i w = _mm256_xor_si256(stored, _mm256_set1_epi8(-128));
                const __m256i size = _mm256_sign_epi8(w, w);
                for (std::size_t i = 0; i < kN; ++i) {
                    const __m256i q8 = avx2::broadcast4(x[i].q8 + 32 * b + 4 * j);
                    const __m256i pairs = _mm256_maddubs_epi16(size, _mm256_sign_epi8(q8, w));
                    sums[i] =
                        _mm256_add_epi32(sums[i], _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
                }
            }
            const __m256 d = avx2::halves(block + 2 * first);
            for (std::size_t i = 0; i < kN; ++i) {
                const __m256 factor = _mm256_mul_ps(d, _mm256_set1_ps(x[i].scale[b]));
                y[i] = _mm256_fmadd_ps(_mm256_cvtepi32_ps(sums[i]), factor, y[i]);
            }
        }
    }
};

}  // namespace
KERNEL_TARGET_END

static const Variant<Q8_0Matmul> variant{"avx2_rows16",
                                         matmul_avx2::options<Q8_0Matmul, Dot>(q8_0_rows16::pack)};

}  // namespace steady
