// The frame of ahead.h with the softmax of all heads side by side: each of its steps is done for
// one head after the other before the next step begins, so that a core has several heads' chains of
// additions, maxima and powers to work on at once.
#pragma once

#include "kernels/mla_attention_i16/ahead.h"
#include "kernels/simd/avx512.h"

namespace steady::mla_i16_tiles::side_by_side {

KERNEL_TARGET_BEGIN(KERNEL_AVX512)

// A tile's values, sixteen to a register.
struct Both {
    __m512 low, high;
    static Both load(const float* at) { return {_mm512_loadu_ps(at), _mm512_loadu_ps(at + 16)}; }
    void store(float* at) const {
        _mm512_storeu_ps(at, low);
        _mm512_storeu_ps(at + 16, high);
    }
    float largest() const { return _mm512_reduce_max_ps(_mm512_max_ps(low, high)); }
    // In the order in which softmax_avx2.h adds, so that no bit differs.
    float sum() const {
        const __m256 first =
            _mm256_add_ps(_mm512_castps512_ps256(low), _mm512_extractf32x8_ps(low, 1));
        const __m256 third = _mm256_add_ps(first, _mm512_castps512_ps256(high));
        return avx2::sum(_mm256_add_ps(third, _mm512_extractf32x8_ps(high, 1)));
    }
};

constexpr std::int64_t kLanes = 16;
constexpr std::int64_t kRoom = (kTogether + kLanes - 1) / kLanes * kLanes;

// What every head's softmax has seen, one head to a lane.
struct Seen {
    alignas(64) float largest[kRoom], total[kRoom];
    Seen() {
        std::fill_n(largest, kRoom, -INFINITY);
        std::fill_n(total, kRoom, 0.0F);
    }
};

// Turns a tile's scores into weights in whole steps, for all heads.
inline void weigh(Heads& heads, const Tile& tile, Seen& seen) {
    const __mmask32 attended = tile.n < kTile ? (1U << tile.n) - 1 : ~0U;
    const auto low = static_cast<__mmask16>(attended);
    const auto high = static_cast<__mmask16>(attended >> 16U);
    const auto scales_of = [&](std::int64_t pair, __mmask16 mask) {
        return _mm512_maskz_loadu_ps(mask, mla_i16::scales(tile.group_of(pair), tile.width));
    };
    const Both scales = {scales_of(0, low), scales_of(kGroupPairs, high)};
    alignas(64) float top[kRoom] = {}, most[kRoom] = {}, factor[kRoom], step[kRoom], shrink[kRoom];
    for (std::int64_t h = 0; h < heads.n; ++h) {
        Both scores = Both::load(heads.scores + h * kTile);
        const __m512 none = _mm512_set1_ps(-INFINITY);
        scores.low = _mm512_mask_mov_ps(none, low, scores.low);
        scores.high = _mm512_mask_mov_ps(none, high, scores.high);
        top[h] = scores.largest();
    }
    for (std::int64_t h = 0; h < heads.n; h += kLanes) {
        const __m512 before = _mm512_load_ps(seen.largest + h);
        const __m512 now = _mm512_max_ps(before, _mm512_load_ps(top + h));
        const __mmask16 first = _mm512_cmp_ps_mask(before, _mm512_set1_ps(-INFINITY), _CMP_EQ_OQ);
        const __m512 fall = _mm512_max_ps(_mm512_sub_ps(before, now), _mm512_set1_ps(-110.0F));
        _mm512_store_ps(seen.largest + h, now);
        _mm512_store_ps(shrink + h,
                        _mm512_mask_mov_ps(avx512::exp(fall), first, _mm512_setzero_ps()));
    }
    for (std::int64_t h = 0; h < heads.n; ++h) {
        float* scores = heads.scores + h * kTile;
        const __m512 all = _mm512_set1_ps(seen.largest[h]);
        Both weights = Both::load(scores);
        weights.low = _mm512_maskz_mov_ps(low, avx512::exp(_mm512_sub_ps(weights.low, all)));
        weights.high = _mm512_maskz_mov_ps(high, avx512::exp(_mm512_sub_ps(weights.high, all)));
        seen.total[h] = seen.total[h] * shrink[h] + weights.sum();
        const Both scaled = {_mm512_mul_ps(weights.low, scales.low),
                             _mm512_mul_ps(weights.high, scales.high)};
        scaled.store(scores);
        most[h] = scaled.largest();
    }
    for (std::int64_t h = 0; h < heads.n; h += kLanes) {
        // What is less adds nothing, and has no reciprocal.
        const __m512 all = _mm512_load_ps(most + h),
                     whole = _mm512_set1_ps(mla_i16::kLargestWeight);
        const __mmask16 any = _mm512_cmp_ps_mask(all, _mm512_set1_ps(1e-30F), _CMP_GT_OQ);
        _mm512_store_ps(step + h, _mm512_maskz_div_ps(any, all, whole));
        _mm512_store_ps(factor + h, _mm512_maskz_div_ps(any, whole, all));
    }
    for (std::int64_t h = 0; h < heads.n; ++h) {
        const Both scaled = Both::load(heads.scores + h * kTile);
        const __m512 by = _mm512_set1_ps(factor[h]);
        const __m256i bound = _mm256_set1_epi16(mla_i16::kLargestWeight);
        const auto whole = [&](__m512 values) {
            const __m512i steps = _mm512_cvtps_epi32(_mm512_mul_ps(values, by));
            return _mm256_min_epi16(_mm512_cvtsepi32_epi16(steps), bound);
        };
        auto* out = reinterpret_cast<__m256i*>(heads.weights[h].values);
        _mm256_store_si256(out, whole(scaled.low));
        _mm256_store_si256(out + 1, whole(scaled.high));
        heads.weights[h].step = step[h];
        heads.shrink[h] = shrink[h];
    }
}

// Adds a tile to the outputs.
template <class Kernels>
void attend_tile(Heads& heads, const Tile& tile, Seen& seen) {
    constexpr std::int64_t kColumns = Kernels::kVectors * Kernels::kLanes;
    const std::int64_t scored = tile.n_pairs() / Kernels::kPairs *
                                (1 + (tile.kv_rank + mla_i16::kScored - 1) / mla_i16::kScored);
    ahead::Stretch next(tile.groups + 2 * mla_i16::group_bytes(tile.width),
                        2 * mla_i16::group_bytes(tile.width),
                        heads.n_portions * (scored + tile.kv_rank / kColumns) + 1);
    std::memset(heads.scores, 0, sizeof(float) * static_cast<std::size_t>(heads.n * kTile));
    std::int64_t pair = 0;
    for (; pair + Kernels::kPairs <= tile.n_pairs(); pair += Kernels::kPairs) {
        ahead::score_pairs(heads, tile, pair, true, next);
    }
    for (; pair < tile.n_pairs(); ++pair) ahead::score_pairs(heads, tile, pair, false, next);
    weigh(heads, tile, seen);
    for (std::int64_t c = 0; c < tile.kv_rank;) {
        const bool several = c + kColumns <= tile.kv_rank;
        for (std::int64_t i = 0; i < heads.n_portions; ++i) {
            const auto& [first, products] = heads.portions[i];
            next.ask();
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
    Seen seen;
    heads.n = n_heads;
    const std::size_t out_bytes = sizeof(float) * static_cast<std::size_t>(n_heads * shape.kv_rank);
    std::memset(heads.out, 0, out_bytes);
    divide_heads<Kernels>(heads);
    for (std::int64_t h = 0; h < n_heads; ++h) prepare(args, first + h, heads.queries[h]);
    for (std::int64_t t = 0; t < shape.n_positions; t += kTile) {
        const std::byte* groups =
            args.cache + t / mla_i16::kGroup * mla_i16::group_bytes(shape.width());
        attend_tile<Kernels>(
            heads, {groups, std::min(kTile, shape.n_positions - t), shape.width(), shape.kv_rank},
            seen);
    }
    for (std::int64_t h = 0; h < n_heads; ++h) {
        mla_avx2_softmax::divide(heads.out + h * shape.kv_rank, shape.kv_rank,
                                 {seen.largest[h], seen.total[h]});
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

}  // namespace steady::mla_i16_tiles::side_by_side
