// As the matvec of this name, for tiles of four vectors: the same bits, the six bits of a quant put
// together once per tile. The sign of a quant less 32 moves to x, so that no sums of x are needed
// and sixteen columns fit sixteen bits (8 · 32 · 127).
// Expected: two to three times the matvec's tokens per second.
#include "kernels/layouts/matmul_avx2.h"
#include "kernels/q6_k_matmul/op.h"
#include "kernels/q6_k_matvec/rows16_avx2.h"

namespace steady {

KERNEL_TARGET_BEGIN(KERNEL_AVX2)
namespace {

// Σ q · x over 16 columns, times the rows' scale.
[[gnu::always_inline]] inline __m256i times(const __m256i* q, const __m256i* size,
                                            const std::int8_t* x, __m256i scale) {
    __m256i pairs = _mm256_setzero_si256();
    for (int g = 0; g < 4; ++g) {
        const __m256i signed_x = _mm256_sign_epi8(avx2::broadcast4(x + 4 * g), q[g]);
        pairs = _mm256_add_epi16(pairs, _mm256_maddubs_epi16(size[g], signed_x));
    }
    return _mm256_madd_epi16(pairs, scale);
}

struct Dot {
    static constexpr Type kType = Type::q6_k;
    static constexpr Input kInput = Input::q8;
    static constexpr int kRows = q6_k_rows16::kRows;
    static constexpr int kMost = 4;

    template <int kN>
    static void run(const std::byte* rows, int first, const std::array<MatmulVector, kN>& x,
                    std::int64_t cols, __m256* y) {
        using namespace q6_k_rows16_avx2;
        for (int i = 0; i < kN; ++i) y[i] = _mm256_setzero_ps();
        for (std::int64_t b = 0; b < cols / 256; ++b) {
            const std::byte* block = rows + b * kBlockBytes;
            __m256 sum[kN];
            for (int i = 0; i < kN; ++i) sum[i] = _mm256_setzero_ps();
            for (int pair = 0; pair < 8; ++pair) {  // two sub-blocks share one scale of x
                __m256i exact[kN];
                for (int i = 0; i < kN; ++i) exact[i] = _mm256_setzero_si256();
                for (int sub = 2 * pair; sub < 2 * pair + 2; ++sub) {
                    __m256i q[4];
                    __m256i size[4];
                    decode(block + kQuants + 192 * sub + 4 * first, q);
                    for (int g = 0; g < 4; ++g) {
                        q[g] = _mm256_sub_epi8(q[g], _mm256_set1_epi8(32));
                        size[g] = _mm256_sign_epi8(q[g], q[g]);
                    }
                    const __m256i scale = twice(block + kScales + 16 * sub + first);
                    for (std::size_t i = 0; i < kN; ++i) {
                        const std::int8_t* q8 = x[i].q8 + b * 256 + 16 * sub;
                        exact[i] = _mm256_add_epi32(exact[i], times(q, size, q8, scale));
                    }
                }
                for (std::size_t i = 0; i < kN; ++i) {
                    sum[i] = _mm256_fmadd_ps(_mm256_cvtepi32_ps(exact[i]),
                                             _mm256_set1_ps(x[i].scale[b * 8 + pair]), sum[i]);
                }
            }
            for (int i = 0; i < kN; ++i) {
                y[i] = _mm256_fmadd_ps(avx2::halves(block + 2 * first), sum[i], y[i]);
            }
        }
    }
};

}  // namespace
KERNEL_TARGET_END

static const Variant<Q6_KMatmul> variant{"avx2_rows16",
                                         matmul_avx2::options<Q6_KMatmul, Dot>(q6_k_rows16::pack)};

}  // namespace steady
