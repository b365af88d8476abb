// A tile of 32 positions at a time, for all heads of a thread: 16-bit products, of two positions to
// a register and five heads at once.
// Expected: twice mla_attention's avx2_all_heads at depth, since a register holds sixteen products
// where it holds eight of floats, and the cache is half as long.
#include "kernels/mla_attention_i16/tiles.h"

namespace steady {

KERNEL_TARGET_BEGIN(KERNEL_AVX2)
namespace {

using namespace mla_i16_tiles;

// sum + the products of neighbours, two and two. As one piece: left to order them itself, GCC 12
// begins all products of a loop before the first sum and has no registers left for the sums.
[[gnu::always_inline]] inline void add_products(__m256i& sum, __m256i a, __m256i b) {
    __m256i products;
    asm("vpmaddwd %3, %2, %1\n\tvpaddd %1, %0, %0" : "+x"(sum), "=&x"(products) : "x"(a), "x"(b));
}

struct Kernels {
    static constexpr int kLanes = 8;    // of 32 bits
    static constexpr int kPairs = 2;    // scored together
    static constexpr int kVectors = 2;  // of outputs together

    template <int kN, int kP>
    static void score(const Query* queries, const Pairs& pairs, float* scores) {
        // Two columns of two positions: both of the one position, then of the other.
        const __m256i places = _mm256_broadcastsi128_si256(
            _mm_setr_epi8(0, 1, 4, 5, 2, 3, 6, 7, 8, 9, 12, 13, 10, 11, 14, 15));
        __m256i sums[kN][kP];
        // Unrolled here and below, since by a variable index the sums would live on the stack.
#pragma GCC unroll 8
        for (int h = 0; h < kN; ++h) {
#pragma GCC unroll 8
            for (int p = 0; p < kP; ++p) sums[h][p] = _mm256_setzero_si256();
        }
        for (std::int64_t c = pairs.begin; c < pairs.end; c += 8) {
            __m256i k[kP];
            for (int p = 0; p < kP; ++p) {
                const std::byte* at = pairs.values + 4 * (p * pairs.width + c);
                k[p] = _mm256_shuffle_epi8(avx2::load(at), places);
            }
            for (int h = 0; h < kN; ++h) {
                const __m256i q = avx2::load(queries[h].values + 2 * c);
                for (int p = 0; p < kP; ++p) add_products(sums[h][p], k[p], q);
            }
        }
        const float* scales = pairs.scales;
        const int part = pairs.part;
#pragma GCC unroll 8
        for (int h = 0; h < kN; ++h) {
            const __m128 step = _mm_set1_ps(queries[h].step[part]);
            const __m256 first = _mm256_cvtepi32_ps(sums[h][0]);
            if constexpr (kP == 2) {
                add_scores(first, _mm256_cvtepi32_ps(sums[h][1]), step, scales, scores + h * kTile);
            } else {
                add_scores(first, step, scales, scores + h * kTile);
            }
        }
    }

    // out[h][c …] = out · shrink[h] + Σ_p weight[h][p] · value[p][c …], for kV registers of
    // columns.
    template <int kN, int kV>
    static void add(const Weights* weights, const Tile& tile, std::int64_t c, const float* shrink,
                    float* out) {
        __m256i sums[kN][kV];
#pragma GCC unroll 8
        for (int h = 0; h < kN; ++h) {
#pragma GCC unroll 8
            for (int v = 0; v < kV; ++v) sums[h][v] = _mm256_setzero_si256();
        }
        const std::byte* pair = tile.groups + 4 * c;
        const std::int64_t n_pairs = tile.n_pairs();
        const std::int64_t width = tile.kv_rank;
        for (std::int64_t p = 0; p < n_pairs; ++p, pair += 4 * tile.width) {
            if (p == kGroupPairs) pair = tile.group_of(p) + 4 * c;
            __m256i values[kV];
            for (int v = 0; v < kV; ++v) values[v] = avx2::load(pair + 32 * v);
            for (int h = 0; h < kN; ++h) {
                int both;
                std::memcpy(&both, weights[h].values + 2 * p, sizeof both);
                const __m256i weight = _mm256_set1_epi32(both);
                for (int v = 0; v < kV; ++v) add_products(sums[h][v], values[v], weight);
            }
        }
#pragma GCC unroll 8
        for (int h = 0; h < kN; ++h) {
            const __m256 factor = _mm256_set1_ps(shrink[h]);
            const __m256 step = _mm256_set1_ps(weights[h].step);
            float* row = out + h * width + c;
#pragma GCC unroll 8
            for (int v = 0; v < kV; ++v) {
                const __m256 old = _mm256_mul_ps(_mm256_loadu_ps(row + 8 * v), factor);
                const __m256 sum = _mm256_cvtepi32_ps(sums[h][v]);
                _mm256_storeu_ps(row + 8 * v, _mm256_fmadd_ps(sum, step, old));
            }
        }
    }
};

}  // namespace
KERNEL_TARGET_END

static const Variant<MlaAttentionI16> variant{
    "avx2", {.needs = cpu::avx2, .supports = supports<8>, .run = run<Kernels>}};

}  // namespace steady
