// As avx2 with registers twice as wide and VNNI, which adds the products as it makes them: four
// pairs of positions and five heads at once.
// Expected: twice avx2 alone.
#include "kernels/mla_attention_i16/tiles.h"
#include "kernels/simd/avx512.h"

namespace steady {

KERNEL_TARGET_BEGIN(KERNEL_AVX512_VNNI)
namespace {

using namespace mla_i16_tiles;

// sum + the products of neighbours, two and two. As one piece, in place: by its intrinsic GCC 12
// copies the sums around each turn of a loop.
[[gnu::always_inline]] inline void add_products(__m512i& sum, __m512i a, __m512i b) {
    asm("vpdpwssd %2, %1, %0" : "+v"(sum) : "v"(a), "v"(b));
}

// Sixteen sums as floats, and the upper eight added to the lower.
[[gnu::always_inline]] inline __m256 halved(__m512i sums) {
    const __m512 lanes = _mm512_cvtepi32_ps(sums);
    return _mm256_add_ps(_mm512_castps512_ps256(lanes), _mm512_extractf32x8_ps(lanes, 1));
}

struct Kernels {
    static constexpr int kLanes = 16;   // of 32 bits
    static constexpr int kPairs = 4;    // scored together
    static constexpr int kVectors = 4;  // of outputs together

    template <int kN, int kP>
    static void score(const Query* queries, const Pairs& pairs, float* scores) {
        // Two columns of two positions: both of the one position, then of the other.
        const __m512i places = _mm512_broadcast_i32x4(
            _mm_setr_epi8(0, 1, 4, 5, 2, 3, 6, 7, 8, 9, 12, 13, 10, 11, 14, 15));
        __m512i sums[kN][kP];
        // Unrolled here and below, since by a variable index the sums would live on the stack.
#pragma GCC unroll 8
        for (int h = 0; h < kN; ++h) {
#pragma GCC unroll 8
            for (int p = 0; p < kP; ++p) sums[h][p] = _mm512_setzero_si512();
        }
        for (std::int64_t c = pairs.begin; c < pairs.end; c += 16) {
            __m512i k[kP];
            for (int p = 0; p < kP; ++p) {
                const std::byte* at = pairs.values + 4 * (p * pairs.width + c);
                k[p] = _mm512_shuffle_epi8(avx512::load(at), places);
            }
            for (int h = 0; h < kN; ++h) {
                const __m512i q = avx512::load(queries[h].values + 2 * c);
                for (int p = 0; p < kP; ++p) add_products(sums[h][p], k[p], q);
            }
        }
        const float* scales = pairs.scales;
        const int part = pairs.part;
#pragma GCC unroll 8
        for (int h = 0; h < kN; ++h) {
            const __m128 step = _mm_set1_ps(queries[h].step[part]);
            float* of_head = scores + h * kTile;
            if constexpr (kP == 1) {
                add_scores(halved(sums[h][0]), step, scales, of_head);
            } else {
#pragma GCC unroll 8
                for (int p = 0; p < kP; p += 2) {
                    add_scores(halved(sums[h][p]), halved(sums[h][p + 1]), step, scales + 2 * p,
                               of_head + 2 * p);
                }
            }
        }
    }

    // out[h][c …] = out · shrink[h] + Σ_p weight[h][p] · value[p][c …], for kV registers of
    // columns.
    template <int kN, int kV>
    static void add(const Weights* weights, const Tile& tile, std::int64_t c, const float* shrink,
                    float* out) {
        __m512i sums[kN][kV];
#pragma GCC unroll 8
        for (int h = 0; h < kN; ++h) {
#pragma GCC unroll 8
            for (int v = 0; v < kV; ++v) sums[h][v] = _mm512_setzero_si512();
        }
        const std::byte* pair = tile.groups + 4 * c;
        const std::int64_t n_pairs = tile.n_pairs();
        const std::int64_t width = tile.kv_rank;
        for (std::int64_t p = 0; p < n_pairs; ++p, pair += 4 * tile.width) {
            if (p == kGroupPairs) pair = tile.group_of(p) + 4 * c;
            __m512i values[kV];
            for (int v = 0; v < kV; ++v) values[v] = avx512::load(pair + 64 * v);
            for (int h = 0; h < kN; ++h) {
                int both;
                std::memcpy(&both, weights[h].values + 2 * p, sizeof both);
                const __m512i weight = _mm512_set1_epi32(both);
                for (int v = 0; v < kV; ++v) add_products(sums[h][v], values[v], weight);
            }
        }
#pragma GCC unroll 8
        for (int h = 0; h < kN; ++h) {
            const __m512 factor = _mm512_set1_ps(shrink[h]);
            const __m512 step = _mm512_set1_ps(weights[h].step);
            float* row = out + h * width + c;
#pragma GCC unroll 8
            for (int v = 0; v < kV; ++v) {
                const __m512 old = _mm512_mul_ps(_mm512_loadu_ps(row + 16 * v), factor);
                const __m512 sum = _mm512_cvtepi32_ps(sums[h][v]);
                _mm512_storeu_ps(row + 16 * v, _mm512_fmadd_ps(sum, step, old));
            }
        }
    }
};

}  // namespace
KERNEL_TARGET_END

static const Variant<MlaAttentionI16> variant{
    "avx512_vnni", {.needs = cpu::avx512_vnni, .supports = supports<16>, .run = run<Kernels>}};

}  // namespace steady
