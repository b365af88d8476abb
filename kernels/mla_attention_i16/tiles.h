// The frame of a tiled attention over the cache of 16-bit integers, with AVX2: queries in whole
// steps, the softmax that runs along, the weights in whole steps, and which heads go together. The
// two products, of a tile's scores and of its weighted sum, are a variant's own.
#pragma once

#include <cstring>

#include "kernels/mla_attention/softmax_avx2.h"
#include "kernels/mla_attention_i16/op.h"
#include "kernels/simd/avx2.h"
#include "kernels/simd/target.h"

namespace steady::mla_i16_tiles {

using mla_avx2_softmax::Running;

constexpr std::int64_t kTile = mla_i16::kWeighed;  // positions per step of the online softmax
constexpr std::int64_t kGroupPairs = mla_i16::kGroup / 2;
static_assert(kTile == 2 * mla_i16::kGroup);
constexpr int kHeads = 5;               // that share a pass over the tile
constexpr std::int64_t kTogether = 20;  // heads whose queries lie on the stack at once
constexpr std::int64_t kMaxWidth = 1088;

// A head's query in whole steps, as rows of the cache meet it: q0 q1 q0 q1 q2 q3 q2 q3 …
struct Query {
    alignas(64) std::int16_t values[2 * kMaxWidth];
    float step[2];  // of the latent and of the rotary part, times the attention's scale
};

// A head's weights of a tile, two positions to a lane.
struct Weights {
    alignas(64) std::int16_t values[kTile];
    float step = 0;
};

// Neighbouring pairs of positions, and the columns of them that are asked for.
struct Pairs {
    const std::byte* values = nullptr;  // the first of [][width][2]
    const float* scales = nullptr;      // of their positions, for the part of these columns
    std::int64_t width = 0;
    std::int64_t begin = 0, end = 0;  // at most kScored columns
    int part = 0;                     // latent or rotary
};

// A tile: two groups of positions, of which n are attended.
struct Tile {
    const std::byte* groups = nullptr;
    std::int64_t n = 0;
    std::int64_t width = 0, kv_rank = 0;
    const std::byte* group_of(std::int64_t pair) const {
        return groups + pair / kGroupPairs * mla_i16::group_bytes(width);
    }
    std::int64_t n_pairs() const { return (n + 1) / 2; }
};

template <std::int64_t kLanes>
bool supports(const MlaI16Shape& shape) {
    return shape.kv_rank % kLanes == 0 && shape.n_rot % kLanes == 0 && shape.width() <= kMaxWidth;
}

KERNEL_TARGET_BEGIN(KERNEL_AVX2)

// Eight floats as int16, to the nearest, saturating.
[[gnu::always_inline]] inline __m128i to_int16(__m256 values) {
    const __m256i whole = _mm256_cvtps_epi32(values);
    return _mm_packs_epi32(_mm256_castsi256_si128(whole), _mm256_extracti128_si256(whole, 1));
}

// What step_of and whole_steps (grouped_cache.h) do to a part of a query, n a multiple of 8;
// returns the step.
inline float round_part(const float* x, std::int64_t n, std::int16_t* out) {
    __m256 most = _mm256_setzero_ps();
    __m256 nothing = _mm256_setzero_ps();
    for (std::int64_t i = 0; i < n; i += 8) {
        const __m256 values = _mm256_loadu_ps(x + i);
        most = _mm256_max_ps(most, _mm256_andnot_ps(_mm256_set1_ps(-0.0F), values));
        nothing = _mm256_fmadd_ps(_mm256_setzero_ps(), values, nothing);
    }
    const float step = avx2::largest(most) / mla_i16::kLargest + avx2::sum(nothing);
    const __m256 divisor = _mm256_set1_ps(step > 0 ? step : 1.0F);
    const __m128i bound = _mm_set1_epi16(mla_i16::kLargest);
    for (std::int64_t i = 0; i < n; i += 8) {
        const __m128i all = to_int16(_mm256_div_ps(_mm256_loadu_ps(x + i), divisor));
        const __m128i values =
            _mm_max_epi16(_mm_min_epi16(all, bound), _mm_sub_epi16(_mm_setzero_si128(), bound));
        auto* to = reinterpret_cast<__m128i*>(out + 2 * i);
        _mm_storeu_si128(to, _mm_unpacklo_epi32(values, values));
        _mm_storeu_si128(to + 1, _mm_unpackhi_epi32(values, values));
    }
    return step;
}

inline void prepare(const MlaAttentionI16::Args& args, std::int64_t head, Query& query) {
    const MlaI16Shape& shape = args.shape;
    const float* q = args.q + head * shape.width();
    query.step[0] = args.scale * round_part(q, shape.kv_rank, query.values);
    query.step[1] =
        args.scale * round_part(q + shape.kv_rank, shape.n_rot, query.values + 2 * shape.kv_rank);
}

// A tile's weights in floats times the positions' scales, in whole steps.
inline void weigh(const float* weights, const Tile& tile, Weights& out) {
    __m256 scaled[kTile / 8];
    __m256 most = _mm256_setzero_ps();
    for (std::int64_t i = 0; i < kTile; i += 8) {
        const __m256i mask = avx2::lanes(std::max<std::int64_t>(tile.n - i, 0));
        const float* scales =
            mla_i16::scales(tile.group_of(i / 2), tile.width) + i % mla_i16::kGroup;
        scaled[i / 8] =
            _mm256_mul_ps(_mm256_maskload_ps(weights + i, mask), _mm256_maskload_ps(scales, mask));
        most = _mm256_max_ps(most, scaled[i / 8]);
    }
    const float top = avx2::largest(most);
    const bool any = top > 1e-30F;  // what is less adds nothing, and has no reciprocal
    out.step = any ? top / mla_i16::kLargestWeight : 0.0F;
    const __m256 factor = _mm256_set1_ps(any ? mla_i16::kLargestWeight / top : 0.0F);
    const __m128i bound = _mm_set1_epi16(mla_i16::kLargestWeight);
    for (std::int64_t i = 0; i < kTile; i += 8) {
        const __m128i values = _mm_min_epi16(to_int16(_mm256_mul_ps(scaled[i / 8], factor)), bound);
        _mm_store_si128(reinterpret_cast<__m128i*>(out.values + i), values);
    }
}

// Sums over lanes that belong to a pair's two positions in turns: the two, twice each.
[[gnu::always_inline]] inline __m128 fold(__m256 lanes) {
    return _mm_add_ps(_mm256_castps256_ps128(lanes), _mm256_extractf128_ps(lanes, 1));
}

// Adds the scaled lane sums of one or two positions to the scores.
[[gnu::always_inline]] inline void add_scores(__m256 lanes, __m128 step, const float* scales,
                                              float* scores) {
    const __m128 half = fold(lanes);
    const __m128 sum = _mm_mul_ps(_mm_add_ps(half, _mm_movehl_ps(half, half)), step);
    const __m128 none = _mm_setzero_ps();
    const __m128 scale = _mm_loadl_pi(none, reinterpret_cast<const __m64*>(scales));
    auto* at = reinterpret_cast<__m64*>(scores);
    _mm_storel_pi(at, _mm_fmadd_ps(sum, scale, _mm_loadl_pi(none, at)));
}
[[gnu::always_inline]] inline void add_scores(__m256 one, __m256 other, __m128 step,
                                              const float* scales, float* scores) {
    const __m128 first = fold(one);
    const __m128 second = fold(other);
    const __m128 sum =
        _mm_mul_ps(_mm_add_ps(_mm_movelh_ps(first, second), _mm_movehl_ps(second, first)), step);
    _mm_storeu_ps(scores, _mm_fmadd_ps(sum, _mm_loadu_ps(scales), _mm_loadu_ps(scores)));
}

// A variant's two products for some number of neighbouring heads.
struct Products {
    // Adds what these columns give to the scores [heads][kTile] of several pairs, or of one.
    using Score = void (*)(const Query* queries, const Pairs& pairs, float* scores);
    // out[h][c …] = out · shrink[h] + Σ_p weight[h][p] · value[p][c …], for several registers of
    // columns, or for one; out is [heads][kv_rank].
    using Add = void (*)(const Weights* weights, const Tile& tile, std::int64_t c,
                         const float* shrink, float* out);
    Score score = nullptr, score_one = nullptr;
    Add add = nullptr, add_one = nullptr;
};
template <class Kernels, int kN>
constexpr Products products_of() {
    return {Kernels::template score<kN, Kernels::kPairs>, Kernels::template score<kN, 1>,
            Kernels::template add<kN, Kernels::kVectors>, Kernels::template add<kN, 1>};
}
template <class Kernels>
constexpr Products kProducts[kHeads] = {products_of<Kernels, 1>(), products_of<Kernels, 2>(),
                                        products_of<Kernels, 3>(), products_of<Kernels, 4>(),
                                        products_of<Kernels, 5>()};

// Heads that share a pass.
struct Portion {
    std::int64_t first = 0;
    Products products;
};

// What is kept of at most kTogether neighbouring heads.
struct Heads {
    Query queries[kTogether];
    Running running[kTogether];
    Weights weights[kTogether];
    float shrink[kTogether];
    alignas(64) float scores[kTogether * kTile];
    // [heads][kv_rank], unnormalised. Not the op's output: threads that add to neighbouring rows of
    // it slow each other down (journal/benchmarks/2026-11-27-neighbouring-rows.md).
    alignas(64) float out[kTogether * kMaxWidth];
    Portion portions[kTogether / kHeads];
    std::int64_t n = 0, n_portions = 0;
};

// Portions that differ by one head at most.
template <class Kernels>
void divide_heads(Heads& heads) {
    heads.n_portions = (heads.n + kHeads - 1) / kHeads;
    for (std::int64_t i = 0; i < heads.n_portions; ++i) {
        const std::int64_t first = i * heads.n / heads.n_portions;
        const std::int64_t end = (i + 1) * heads.n / heads.n_portions;
        heads.portions[i] = {first, kProducts<Kernels>[end - first - 1]};
    }
}

// The scores of some pairs, the first of them number `pair` of the tile: of kPairs or of one. What
// the next tile has in their place is fetched meanwhile.
inline void score_pairs(Heads& heads, const Tile& tile, std::int64_t pair, std::int64_t n_pairs) {
    const std::byte* values = tile.group_of(pair) + 4 * (pair % kGroupPairs) * tile.width;
    const float* scales =
        mla_i16::scales(tile.group_of(pair), tile.width) + 2 * (pair % kGroupPairs);
    const std::byte* next = values + 2 * mla_i16::group_bytes(tile.width);
    for (std::int64_t i = 0; i < 4 * n_pairs * tile.width; i += 64) {
        _mm_prefetch(reinterpret_cast<const char*>(next) + i, _MM_HINT_T1);
    }
    const std::int64_t ends[2] = {tile.kv_rank, tile.width};
    std::int64_t c = 0;
    for (int part = 0; part < 2; ++part) {
        for (; c < ends[part]; c = std::min(c + mla_i16::kScored, ends[part])) {
            const Pairs pairs{values,
                              scales + part * mla_i16::kGroup,
                              tile.width,
                              c,
                              std::min(c + mla_i16::kScored, ends[part]),
                              part};
            for (std::int64_t i = 0; i < heads.n_portions; ++i) {
                const auto& [first, products] = heads.portions[i];
                const auto score = n_pairs > 1 ? products.score : products.score_one;
                score(heads.queries + first, pairs, heads.scores + first * kTile + 2 * pair);
            }
        }
    }
}

// Adds a tile to the outputs.
template <class Kernels>
void attend_tile(Heads& heads, const Tile& tile) {
    std::memset(heads.scores, 0, sizeof(float) * static_cast<std::size_t>(heads.n * kTile));
    std::int64_t pair = 0;
    for (; pair + Kernels::kPairs <= tile.n_pairs(); pair += Kernels::kPairs) {
        score_pairs(heads, tile, pair, Kernels::kPairs);
    }
    for (; pair < tile.n_pairs(); ++pair) score_pairs(heads, tile, pair, 1);
    for (std::int64_t h = 0; h < heads.n; ++h) {
        float* scores = heads.scores + h * kTile;
        heads.shrink[h] = mla_avx2_softmax::to_weights(scores, tile.n, heads.running[h]);
        weigh(scores, tile, heads.weights[h]);
    }
    constexpr std::int64_t kColumns = Kernels::kVectors * Kernels::kLanes;
    for (std::int64_t c = 0; c < tile.kv_rank;) {
        const bool several = c + kColumns <= tile.kv_rank;
        for (std::int64_t i = 0; i < heads.n_portions; ++i) {
            const auto& [first, products] = heads.portions[i];
            const auto add = several ? products.add : products.add_one;
            add(heads.weights + first, tile, c, heads.shrink + first,
                heads.out + first * tile.kv_rank);
        }
        c += several ? kColumns : Kernels::kLanes;
    }
}

// n_heads ≤ kTogether from `first` on.
template <class Kernels>
void attend_together(const MlaAttentionI16::Args& args, std::int64_t first, std::int64_t n_heads) {
    const MlaI16Shape& shape = args.shape;
    Heads heads;
    heads.n = n_heads;
    const std::size_t out_bytes = sizeof(float) * static_cast<std::size_t>(n_heads * shape.kv_rank);
    std::memset(heads.out, 0, out_bytes);
    divide_heads<Kernels>(heads);
    for (std::int64_t h = 0; h < n_heads; ++h) prepare(args, first + h, heads.queries[h]);
    for (std::int64_t t = 0; t < shape.n_positions; t += kTile) {
        const std::byte* groups =
            args.cache + t / mla_i16::kGroup * mla_i16::group_bytes(shape.width());
        attend_tile<Kernels>(
            heads, {groups, std::min(kTile, shape.n_positions - t), shape.width(), shape.kv_rank});
    }
    for (std::int64_t h = 0; h < n_heads; ++h) {
        mla_avx2_softmax::divide(heads.out + h * shape.kv_rank, shape.kv_rank, heads.running[h]);
    }
    std::memcpy(args.out + first * shape.kv_rank, heads.out, out_bytes);
}

template <class Kernels>
void run(const MlaAttentionI16::Args& args, Range range) noexcept {
    for (std::int64_t head = range.begin; head < range.end; head += kTogether) {
        attend_together<Kernels>(args, head, std::min(kTogether, range.end - head));
    }
}

KERNEL_TARGET_END

}  // namespace steady::mla_i16_tiles
