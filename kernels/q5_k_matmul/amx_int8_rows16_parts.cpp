// The tiles of AMX over the layout rows16 of Q5_K: the five bits of a sub-block become bytes once
// for all vectors. Expected: twice the tokens per second of avx512_vnni_rows16 where sixteen
// vectors or more share a matrix.
#include "kernels/layouts/matmul_amx.h"
#include "kernels/q5_k_matmul/op.h"
#include "kernels/q5_k_matmul/rows16.h"

namespace steady {

KERNEL_TARGET_BEGIN(KERNEL_AMX)
namespace {

using matmul_amx::kRows;
using matmul_amx::kVectors;

struct Parts {
    static constexpr Type kType = Type::q5_k;
    static constexpr Input kInput = Input::q8;
    static constexpr std::int64_t kUnit = 32;
    static constexpr std::int64_t kFewest = 9;
    static constexpr int kAhead = 4096;
    static constexpr int kSubBlocks = 8;
    using Few = q5_k_matmul::Dot;
    using Sums = matmul_amx::SumsOf<kInput, kUnit>;

    static void few(const MatmulArgs& args, Range rows, std::int64_t v, std::int64_t end) {
        for (std::int64_t r = rows.begin; r < rows.end; r += kRows) {
            matmul_rows16::tiles<Few, Few::kMost>(args, r, v, end);
        }
    }

    static void unpack(const std::byte* block, std::int64_t /*units*/, std::byte* bytes) {
        for (int s = 0; s < kSubBlocks; ++s) {
            const std::byte* quants = block + q5_k_rows16::kQuants + 320 * s;
            fetch<kAhead, 5>(quants);
            __m512i w[8];
            q5_k_matmul::decode(quants, w);
            for (int g = 0; g < 8; ++g) {
                _mm512_store_si512(bytes + kRows * kUnit * s + 64 * g, w[g]);
            }
        }
    }

    // Scaled and taken sums as the matvec makes them. A sum times its sub-block's scale is below
    // 2^24, so that a float holds it as an integer does.
    static void add(const std::byte* block, std::int64_t /*units*/, const Sums& sums,
                    const matmul_amx::Vectors& x, std::int64_t first,
                    float (&total)[kVectors][kRows]) {
        alignas(64) std::uint8_t bytes[2][128];
        q5_k_rows16::decode_scales(block + q5_k_rows16::kPlanes, bytes[0], bytes[1]);
        __m512 scale[kSubBlocks], min[kSubBlocks];
        for (int s = 0; s < kSubBlocks; ++s) {
            scale[s] = _mm512_cvtepi32_ps(q5_k_rows16::widen(bytes[0] + 16 * s));
            min[s] = _mm512_cvtepi32_ps(q5_k_rows16::widen(bytes[1] + 16 * s));
        }
        const __m512 d = avx512::halves(block);
        const __m512 d_min = avx512::halves(block + 32);
        for (std::int64_t i = 0; i < x.n; ++i) {
            const std::int64_t at = x.block(i, first);
            const float* x_scale = x.args.x.q8_scale + at;
            alignas(32) float x_sum[kSubBlocks];
            const auto* sums_at = reinterpret_cast<const __m256i*>(x.args.x.q8_sum + at);
            _mm256_store_ps(x_sum, _mm256_mul_ps(_mm256_loadu_ps(x_scale),
                                                 _mm256_cvtepi32_ps(_mm256_loadu_si256(sums_at))));
            __m512 scaled = _mm512_setzero_ps(), taken = _mm512_setzero_ps();
            for (int s = 0; s < kSubBlocks; ++s) {
                const __m512 sum = _mm512_cvtepi32_ps(avx512::load(sums[0][i][s]));
                scaled = _mm512_fmadd_ps(_mm512_mul_ps(sum, scale[s]), _mm512_set1_ps(x_scale[s]),
                                         scaled);
                taken = _mm512_fmadd_ps(min[s], _mm512_set1_ps(x_sum[s]), taken);
            }
            const __m512 sum = _mm512_fmadd_ps(d, scaled, _mm512_load_ps(total[i]));
            _mm512_store_ps(total[i], _mm512_fnmadd_ps(d_min, taken, sum));
        }
    }
};

}  // namespace
KERNEL_TARGET_END

static const Variant<Q5_KMatmul> variant{"amx_int8_rows16_parts",
                                         matmul_amx::options<Q5_KMatmul, Parts>(q5_k_rows16::pack)};

}  // namespace steady
