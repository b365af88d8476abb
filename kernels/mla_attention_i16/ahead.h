// The frame of tiles.h with the next tile asked for a few lines at a time, before each product,
// where tiles.h asks for 144 lines at once, behind which a core's own loads likely wait.
#pragma once

#include "kernels/mla_attention_i16/tiles.h"

namespace steady::mla_i16_tiles::ahead {

KERNEL_TARGET_BEGIN(KERNEL_AVX2)

// A tile's bytes, in as many parts as there are products before they are needed.
class Stretch {
public:
    Stretch(const std::byte* begin, std::int64_t bytes, std::int64_t n_parts)
        : at_(reinterpret_cast<const char*>(begin)),
          end_(at_ + bytes),
          part_((bytes / n_parts + 64) / 64 * 64) {}
    void ask() {
        const char* stop = std::min(at_ + part_, end_);
        for (; at_ < stop; at_ += 64) _mm_prefetch(at_, _MM_HINT_T1);
    }

private:
    const char *at_, *end_;
    std::int64_t part_;
};

// The scores of some pairs, the first of them number `pair` of the tile: of kPairs or of one.
inline void score_pairs(Heads& heads, const Tile& tile, std::int64_t pair, bool several,
                        Stretch& next) {
    const std::byte* group = tile.group_of(pair);
    const std::byte* values = group + 4 * (pair % kGroupPairs) * tile.width;
    const float* scales = mla_i16::scales(group, tile.width) + 2 * (pair % kGroupPairs);
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
                next.ask();
                const auto score = several ? products.score : products.score_one;
                score(heads.queries + first, pairs, heads.scores + first * kTile + 2 * pair);
            }
        }
    }
}

// Adds a tile to the outputs.
template <class Kernels>
void attend_tile(Heads& heads, const Tile& tile) {
    constexpr std::int64_t kColumns = Kernels::kVectors * Kernels::kLanes;
    const std::int64_t scored = tile.n_pairs() / Kernels::kPairs *
                                (1 + (tile.kv_rank + mla_i16::kScored - 1) / mla_i16::kScored);
    Stretch next(tile.groups + 2 * mla_i16::group_bytes(tile.width),
                 2 * mla_i16::group_bytes(tile.width),
                 heads.n_portions * (scored + tile.kv_rank / kColumns) + 1);
    std::memset(heads.scores, 0, sizeof(float) * static_cast<std::size_t>(heads.n * kTile));
    std::int64_t pair = 0;
    for (; pair + Kernels::kPairs <= tile.n_pairs(); pair += Kernels::kPairs) {
        ahead::score_pairs(heads, tile, pair, true, next);
    }
    for (; pair < tile.n_pairs(); ++pair) ahead::score_pairs(heads, tile, pair, false, next);
    for (std::int64_t h = 0; h < heads.n; ++h) {
        float* scores = heads.scores + h * kTile;
        heads.shrink[h] = mla_avx2_softmax::to_weights(scores, tile.n, heads.running[h]);
        weigh(scores, tile, heads.weights[h]);
    }
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
    heads.n = n_heads;
    const std::size_t out_bytes = sizeof(float) * static_cast<std::size_t>(n_heads * shape.kv_rank);
    std::memset(heads.out, 0, out_bytes);
    divide_heads<Kernels>(heads);
    for (std::int64_t h = 0; h < n_heads; ++h) prepare(args, first + h, heads.queries[h]);
    for (std::int64_t t = 0; t < shape.n_positions; t += kTile) {
        const std::byte* groups =
            args.cache + t / mla_i16::kGroup * mla_i16::group_bytes(shape.width());
        ahead::attend_tile<Kernels>(
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
        ahead::attend_together<Kernels>(args, head, std::min(kTogether, range.end - head));
    }
}

KERNEL_TARGET_END

}  // namespace steady::mla_i16_tiles::ahead
