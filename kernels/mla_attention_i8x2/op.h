// Attention of one token over a latent cache of two bytes per value, each with a sign: what op
// mla_attention_i16 does, with the bytes kept apart and in the order in which AMX multiplies them.
// Cache and query are rounded to a 32639th of their part's largest value, finer than half floats;
// of a product of two such numbers the product of their low bytes is left out, and a variant may
// leave it out of a weight's product with a value too.
#pragma once

#include "kernels/attention/attention_op.h"
#include "kernels/attention/grouped_cache.h"
#include "kernels/attention/shape.h"

namespace steady {

using MlaI8x2Shape = LatentShape<1>;

// The cache: groups of sixteen positions. A group has blocks of 64 columns, first the latent ones,
// then the rotary ones; behind either part's columns lie some that mean nothing, up to a whole
// block. A block has its high bytes, then its low ones: [columns / 4][16 positions][4 columns].
// Behind the blocks lie 16 scales of the latent parts and 16 of the rotary parts. A value in whole
// steps is 256 · high + low.
namespace mla_i8x2 {

constexpr std::int64_t kGroup = 16;                 // positions
constexpr std::int64_t kColumns = 64;               // of a block
constexpr std::int64_t kPlane = kGroup * kColumns;  // bytes of a block's high or low bytes
constexpr int kLargest = 32639;  // 127 · 256 + 127: of a value, a query, a weight in steps

constexpr std::int64_t blocks(std::int64_t part) { return (part + kColumns - 1) / kColumns; }
constexpr std::int64_t group_bytes(std::int64_t kv_rank, std::int64_t n_rot) {
    return 2 * kPlane * (blocks(kv_rank) + blocks(n_rot)) + 8 * kGroup;
}

struct Format {
    static constexpr const char* kOp = "mla_attention_i8x2";
    static constexpr const char* kName = "i8x2";
    using Shape = MlaI8x2Shape;
    using Query = const float*;
    static constexpr std::int64_t kGroup = mla_i8x2::kGroup;
    static constexpr std::int64_t kScratchGroup = 1;
    static constexpr std::int64_t kValueBytes = 2;
    static constexpr int kLargest = mla_i8x2::kLargest;
    static constexpr int kWeightSteps = mla_i8x2::kLargest;
    static constexpr bool kRoundsQuery = true;
    static constexpr bool kKeepsSums = true;
    static std::int64_t group_bytes(std::int64_t kv_rank, std::int64_t n_rot) {
        return mla_i8x2::group_bytes(kv_rank, n_rot);
    }
    struct Place {
        std::int64_t group = 0, in_group = 0;  // in bytes; in positions
        std::int64_t kv_rank = 0, n_rot = 0;
        Place(std::int64_t position, std::int64_t latent, std::int64_t rotary)
            : group(position / kGroup * group_bytes(latent, rotary)),
              in_group(position % kGroup),
              kv_rank(latent),
              n_rot(rotary) {}
        std::int64_t high(std::int64_t c) const {
            const std::int64_t column = c < kv_rank ? c : blocks(kv_rank) * kColumns + c - kv_rank;
            return group + column / kColumns * 2 * kPlane + column % kColumns / 4 * 4 * kGroup +
                   4 * in_group + column % 4;
        }
        std::int64_t low(std::int64_t c) const { return high(c) + kPlane; }
        std::int64_t scale(int part) const {
            return group + group_bytes(kv_rank, n_rot) + 4 * ((part - 2) * kGroup + in_group);
        }
    };
    static int low(int steps) { return steps - 256 * ((steps + 128) >> 8); }
    static int get(const std::byte* cache, const Place& place, std::int64_t c) {
        return 256 * static_cast<std::int8_t>(cache[place.high(c)]) +
               static_cast<std::int8_t>(cache[place.low(c)]);
    }
    static void put(std::byte* cache, const Place& place, std::int64_t c, int steps) {
        cache[place.high(c)] = static_cast<std::byte>((steps + 128) >> 8);
        cache[place.low(c)] = static_cast<std::byte>(low(steps));
    }
    static std::vector<Shape> odd_shapes(auto& random) {
        return {{1, 1, 2, 1},
                {3, 40, 6, 5},
                {35, 64, 32, 17},
                {7, 32, 64, 331},
                {5, 512, 64, 7},
                {2, 1000, 40, 33},
                {random.integer(1, 40), random.integer(1, 700), 2 * random.integer(1, 64),
                 random.integer(1, 400)}};
    }
};

}  // namespace mla_i8x2

using MlaAttentionI8x2 = AttentionOp<GroupedCodec<mla_i8x2::Format>>;

}  // namespace steady
