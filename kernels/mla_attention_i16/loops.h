// The two products of a tile, written once for every register width. Included inside the target
// region of the variant, behind its `Simd`: code takes the instructions of the region in which it
// stands.
#pragma once

// Simd: the registers, how many 32-bit lanes they have, and how many are used together.
template <class Simd>
struct Products16 {
    using Ints = typename Simd::Ints;
    using Floats = typename Simd::Floats;
    static constexpr int kLanes = Simd::kLanes;
    static constexpr int kPairs = Simd::kPairs;      // scored together
    static constexpr int kVectors = Simd::kVectors;  // of outputs together

    template <int kN, int kP>
    static void score(const Query* queries, const Pairs& pairs, float* scores) {
        // Two columns of two positions: both of the one position, then of the other.
        const Ints places =
            Simd::broadcast(_mm_setr_epi8(0, 1, 4, 5, 2, 3, 6, 7, 8, 9, 12, 13, 10, 11, 14, 15));
        Ints sums[kN][kP];
        // Unrolled here and below, since by a variable index the sums would live on the stack.
#pragma GCC unroll 8
        for (int h = 0; h < kN; ++h) {
#pragma GCC unroll 8
            for (int p = 0; p < kP; ++p) sums[h][p] = Simd::zero();
        }
        for (std::int64_t c = pairs.begin; c < pairs.end; c += kLanes) {
            Ints k[kP];
            for (int p = 0; p < kP; ++p) {
                const std::byte* at = pairs.values + 4 * (p * pairs.width + c);
                k[p] = Simd::shuffled(Simd::load(at), places);
            }
            for (int h = 0; h < kN; ++h) {
                const Ints q = Simd::load(queries[h].values + 2 * c);
                for (int p = 0; p < kP; ++p) Simd::add_products(sums[h][p], k[p], q);
            }
        }
        const float* scales = pairs.scales;
        const int part = pairs.part;
#pragma GCC unroll 8
        for (int h = 0; h < kN; ++h) {
            const __m128 step = _mm_set1_ps(queries[h].step[part]);
            float* of_head = scores + h * kTile;
            if constexpr (kP == 1) {
                add_scores(Simd::eight_floats(sums[h][0]), step, scales, of_head);
            } else {
#pragma GCC unroll 8
                for (int p = 0; p < kP; p += 2) {
                    add_scores(Simd::eight_floats(sums[h][p]), Simd::eight_floats(sums[h][p + 1]),
                               step, scales + 2 * p, of_head + 2 * p);
                }
            }
        }
    }

    // out[h][c …] = out · shrink[h] + Σ_p weight[h][p] · value[p][c …], for kV registers of
    // columns.
    template <int kN, int kV>
    static void add(const Weights* weights, const Tile& tile, std::int64_t c, const float* shrink,
                    float* out) {
        Ints sums[kN][kV];
#pragma GCC unroll 8
        for (int h = 0; h < kN; ++h) {
#pragma GCC unroll 8
            for (int v = 0; v < kV; ++v) sums[h][v] = Simd::zero();
        }
        const std::byte* pair = tile.groups + 4 * c;
        const std::int64_t n_pairs = tile.n_pairs();
        const std::int64_t width = tile.kv_rank;
        for (std::int64_t p = 0; p < n_pairs; ++p, pair += 4 * tile.width) {
            if (p == kGroupPairs) pair = tile.group_of(p) + 4 * c;
            Ints values[kV];
            for (int v = 0; v < kV; ++v) values[v] = Simd::load(pair + 4 * kLanes * v);
            for (int h = 0; h < kN; ++h) {
                int both;
                std::memcpy(&both, weights[h].values + 2 * p, sizeof both);
                const Ints weight = Simd::all(both);
                for (int v = 0; v < kV; ++v) Simd::add_products(sums[h][v], values[v], weight);
            }
        }
#pragma GCC unroll 8
        for (int h = 0; h < kN; ++h) {
            const Floats factor = Simd::all(shrink[h]);
            const Floats step = Simd::all(weights[h].step);
            float* row = out + h * width + c;
#pragma GCC unroll 8
            for (int v = 0; v < kV; ++v) {
                const Floats old = Simd::product(Simd::load_floats(row + kLanes * v), factor);
                const Floats sum = Simd::floats(sums[h][v]);
                Simd::store(row + kLanes * v, Simd::product_plus(sum, step, old));
            }
        }
    }
};
