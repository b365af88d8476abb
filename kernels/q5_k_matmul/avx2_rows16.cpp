// As the matvec of this name, for tiles of four vectors: the same bits, the five bits of a quant
// put together once per tile. Expected: two to three times the matvec's tokens per second.
#include "kernels/layouts/matmul_avx2.h"
#include "kernels/q5_k_matmul/op.h"
#include "kernels/q5_k_matvec/rows16_avx2.h"

namespace steady {

KERNEL_TARGET_BEGIN(KERNEL_AVX2)
namespace {

struct Dot {
    static constexpr Type kType = Type::q5_k;
    static constexpr Input kInput = Input::q8;
    static constexpr int kRows = q5_k_rows16::kRows;
    static constexpr int kMost = 4;

    template <int kN>
    static void run(const std::byte* rows, int first, const std::array<MatmulVector, kN>& x,
                    std::int64_t cols, __m256* y) {
        using namespace q5_k_rows16_avx2;
        alignas(32) std::uint8_t scales[128];
        alignas(32) std::uint8_t mins[128];
        for (int i = 0; i < kN; ++i) y[i] = _mm256_setzero_ps();
        for (std::int64_t b = 0; b < cols / 256; ++b) {
            const std::byte* block = rows + b * kBlockBytes;
            decode_scales(block + kPlanes, scales, mins);
            __m256 scaled[kN];
            __m256 taken[kN];
            for (int i = 0; i < kN; ++i) scaled[i] = taken[i] = _mm256_setzero_ps();
            for (int s = 0; s < 8; ++s) {
                const std::int64_t at = b * 8 + s;
                const std::byte* quants = block + kQuants + 320 * s + 4 * first;
                const __m256i scale = twice(scales + 16 * s + first);
                const __m256 min = floats(mins + 16 * s + first);
                __m256i q[8];
                decode(quants, q);
                for (std::size_t i = 0; i < kN; ++i) {
                    const __m256i product = times(q, x[i].q8 + at * 32, scale);
                    const __m256 x_scale = _mm256_set1_ps(x[i].scale[at]);
                    const float x_sum = x[i].scale[at] * static_cast<float>(x[i].sum[at]);
                    scaled[i] = _mm256_fmadd_ps(_mm256_cvtepi32_ps(product), x_scale, scaled[i]);
                    taken[i] = _mm256_fmadd_ps(min, _mm256_set1_ps(x_sum), taken[i]);
                }
            }
            for (int i = 0; i < kN; ++i) {
                y[i] = _mm256_fmadd_ps(avx2::halves(block + 2 * first), scaled[i], y[i]);
                y[i] = _mm256_fnmadd_ps(avx2::halves(block + 32 + 2 * first), taken[i], y[i]);
            }
        }
    }
};

}  // namespace
KERNEL_TARGET_END

static const Variant<Q5_KMatmul> variant{"avx2_rows16",
                                         matmul_avx2::options<Q5_KMatmul, Dot>(q5_k_rows16::pack)};

}  // namespace steady
