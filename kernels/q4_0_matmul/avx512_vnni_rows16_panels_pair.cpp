// As avx512_vnni_rows16_panels, two groups of sixteen rows per tile of up to six vectors: each
// broadcast of a vector meets both. Expected: faster where loads are the bound, as on CPUs that
// start two products and two loads per clock, once an expert has three tokens or more.
#include "kernels/layouts/matmul_panels.h"
#include "kernels/q4_0_matmul/op.h"
#include "kernels/q4_0_matmul/rows16.h"

namespace steady {

KERNEL_TARGET_BEGIN(KERNEL_AVX512_VNNI)
namespace {

using q4_0_rows16::kBlockBytes;

// What Dot of rows16.h does for one group, in the same order, for two.
struct PairTiles {
    static constexpr Type kType = Type::q4_0;
    static constexpr Input kInput = Input::q8;
    static constexpr std::int64_t kRows = 2 * q4_0_rows16::kRows;
    static constexpr int kMost = 6;

    static void run(const MatmulArgs& args, std::int64_t r, std::int64_t v, std::int64_t end) {
        for (std::int64_t left = (end - v + kMost - 1) / kMost; left > 0; --left) {
            const std::int64_t n = (end - v + left - 1) / left;
            tile_of<kMost>(args, r, v, n);
            v += n;
        }
    }

    // n vectors, of kN at most.
    template <int kN>
    static void tile_of(const MatmulArgs& args, std::int64_t r, std::int64_t v, std::int64_t n) {
        if constexpr (kN > 1) {
            if (n < kN) return tile_of<kN - 1>(args, r, v, n);
        }
        tile<kN>(args, r, v);
    }

    template <int kN>
    static inline void tile(const MatmulArgs& args, std::int64_t r, std::int64_t v) {
        const MatmulShape& shape = args.shape;
        const auto x = matmul_vectors<Input::q8, kN>(args, v);
        const std::int64_t n_blocks = shape.cols / 32;
        const std::byte* rows = args.w + r * n_blocks * 18;
        const __m512i nibble = _mm512_set1_epi8(15);
        const __m512i minus_eight = _mm512_set1_epi32(0xFFF8);
        __m512 total[2][kN];
        for (int g = 0; g < 2; ++g) {
            for (int i = 0; i < kN; ++i) total[g][i] = _mm512_setzero_ps();
        }
        for (std::int64_t b = 0; b < n_blocks; ++b) {
            const std::byte* block[2] = {rows + b * kBlockBytes,
                                         rows + (n_blocks + b) * kBlockBytes};
            __m512i sum[2][kN];
            for (int g = 0; g < 2; ++g) fetch<2048, 5>(block[g]);
            for (int i = 0; i < kN; ++i) {
                sum[0][i] = sum[1][i] =
                    _mm512_dpwssd_epi32(_mm512_setzero_si512(), minus_eight,
                                        _mm512_set1_epi32(x[static_cast<std::size_t>(i)].sum[b]));
            }
            for (int j = 0; j < 4; ++j) {
                __m512i even[2], odd[2];
                for (int g = 0; g < 2; ++g) {
                    const __m512i w = avx512::load(block[g] + 32 + 64 * j);
                    even[g] = _mm512_and_si512(w, nibble);
                    odd[g] = _mm512_and_si512(_mm512_srli_epi16(w, 4), nibble);
                }
                for (int i = 0; i < kN; ++i) {
                    const std::int8_t* at = x[static_cast<std::size_t>(i)].q8 + 32 * b + 4 * j;
                    const __m512i first = avx512::broadcast4(at);
                    const __m512i second = avx512::broadcast4(at + 16);
                    for (int g = 0; g < 2; ++g) {
                        sum[g][i] = _mm512_dpbusd_epi32(sum[g][i], even[g], first);
                        sum[g][i] = _mm512_dpbusd_epi32(sum[g][i], odd[g], second);
                    }
                }
            }
            const __m512 d[2] = {avx512::halves(block[0]), avx512::halves(block[1])};
            for (int i = 0; i < kN; ++i) {
                const __m512 step = _mm512_set1_ps(x[static_cast<std::size_t>(i)].scale[b]);
                for (int g = 0; g < 2; ++g) {
                    total[g][i] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(sum[g][i]),
                                                  _mm512_mul_ps(d[g], step), total[g][i]);
                }
            }
        }
        for (int i = 0; i < kN; ++i) {
            float* y = args.y + args.y_row[v + i] * shape.rows + r % shape.rows;
            _mm512_storeu_ps(y, total[0][i]);
            _mm512_storeu_ps(y + q4_0_rows16::kRows, total[1][i]);
        }
    }
};

}  // namespace
KERNEL_TARGET_END

static const Variant<Q4_0Matmul> variant{
    "avx512_vnni_rows16_panels_pair",
    matmul_panels::options<Q4_0Matmul, PairTiles>(q4_0_rows16::pack)};

}  // namespace steady
