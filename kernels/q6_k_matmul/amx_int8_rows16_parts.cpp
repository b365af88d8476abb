// The tiles of AMX over the layout rows16 of Q6_K, whose sixteen columns with a scale of their own
// fill a quarter of a tile's depth. Expected: half again the tokens per second of
// avx512_vnni_rows16 where sixteen vectors or more share a matrix.
#include "kernels/layouts/matmul_amx.h"
#include "kernels/q6_k_matmul/op.h"
#include "kernels/q6_k_matmul/rows16.h"

namespace steady {

KERNEL_TARGET_BEGIN(KERNEL_AMX)
namespace {

using matmul_amx::kRows;
using matmul_amx::kVectors;

struct Parts {
    static constexpr Type kType = Type::q6_k;
    static constexpr Input kInput = Input::q8;
    static constexpr std::int64_t kUnit = 16;
    static constexpr std::int64_t kFewest = 9;
    static constexpr int kAhead = 4096;
    static constexpr int kSubBlocks = 16;
    using Sums = matmul_amx::SumsOf<kInput, kUnit>;

    static void few(const MatmulArgs& args, Range rows, std::int64_t v, std::int64_t end) {
        q6_k_matmul::Sums minus_sums;
        q6_k_matmul::tiles<q6_k_matmul::kTile>(args, rows.begin, rows.end, v, end, minus_sums);
    }

    static void unpack(const std::byte* block, std::int64_t /*units*/, std::byte* bytes) {
        const __m512i more = _mm512_set1_epi8(32);  // is added to each quant
        for (int s = 0; s < kSubBlocks; ++s) {
            const std::byte* quants = block + q6_k_rows16::kQuants + 192 * s;
            fetch<kAhead, 3>(quants);
            __m512i w[4];
            q6_k_matmul::decode(quants, w);
            for (int g = 0; g < 4; ++g) {
                _mm512_store_si512(bytes + kRows * kUnit * s + 64 * g, _mm512_sub_epi8(w[g], more));
            }
        }
    }

    // Two sub-blocks share a scale of x. Their sums times their scales, and what those give
    // together, are below 2^24, so that a float holds them as an integer does.
    static void add(const std::byte* block, std::int64_t /*units*/, const Sums& sums,
                    const matmul_amx::Vectors& x, std::int64_t first,
                    float (&total)[kVectors][kRows]) {
        __m512 scale[kSubBlocks];
        for (int s = 0; s < kSubBlocks; ++s) {
            scale[s] = _mm512_cvtepi32_ps(q6_k_rows16::scales_of(block, s));
        }
        const __m512 d = avx512::halves(block);
        for (std::int64_t i = 0; i < x.n; ++i) {
            const float* x_scale = x.args.x.q8_scale + x.block(i, first);
            __m512 sum = _mm512_setzero_ps();
            for (int s = 0; s < kSubBlocks; s += 2) {
                const __m512 a = _mm512_cvtepi32_ps(avx512::load(sums[0][i][s]));
                const __m512 b = _mm512_cvtepi32_ps(avx512::load(sums[0][i][s + 1]));
                const __m512 exact = _mm512_fmadd_ps(b, scale[s + 1], _mm512_mul_ps(a, scale[s]));
                sum = _mm512_fmadd_ps(exact, _mm512_set1_ps(x_scale[s / 2]), sum);
            }
            _mm512_store_ps(total[i], _mm512_fmadd_ps(d, sum, _mm512_load_ps(total[i])));
        }
    }
};

}  // namespace
KERNEL_TARGET_END

static const Variant<Q6_KMatmul> variant{"amx_int8_rows16_parts",
                                         matmul_amx::options<Q6_KMatmul, Parts>(q6_k_rows16::pack)};

}  // namespace steady
