// Attention of one token over a latent cache of 16-bit integers: what op mla_attention does, on
// half of its memory and with integer products, of which a CPU does twice as many as of floats.
// Cache and query are rounded to a 4095th of their part's largest value, about as fine as half
// floats; with that, whole rows are added up in 32 bits.
#pragma once

#include "kernels/attention/attention_op.h"
#include "kernels/attention/grouped_cache.h"
#include "kernels/attention/shape.h"

namespace steady {

using MlaI16Shape = LatentShape<1>;

// The cache: groups of sixteen positions. A group has eight pairs of positions, each [width][2]
// values, then 16 scales of the latent parts and 16 of the rotary parts.
namespace mla_i16 {

constexpr std::int64_t kGroup = 16;        // positions
constexpr int kLargest = 4095;             // of a stored value and of a rounded query
constexpr int kLargestWeight = 16383;      // of a position's weight, in whole steps
constexpr std::int64_t kWeighed = 32;      // positions whose weights share a step, and a sum
constexpr std::int64_t kScored = 4 * 128;  // columns whose products a sum of eight lanes holds

inline std::int64_t group_bytes(std::int64_t width) { return kGroup * (2 * width + 8); }
// Of the group's positions; the rotary ones follow the latent ones.
inline const float* scales(const std::byte* group, std::int64_t width) {
    return reinterpret_cast<const float*>(group + 2 * kGroup * width);
}

struct Format {
    static constexpr const char* kOp = "mla_attention_i16";
    static constexpr const char* kName = "i16";
    using Shape = MlaI16Shape;
    using Query = const float*;
    static constexpr std::int64_t kGroup = mla_i16::kGroup;
    static constexpr std::int64_t kScratchGroup = 1;
    static constexpr std::int64_t kValueBytes = 2;
    static constexpr int kLargest = mla_i16::kLargest;
    static constexpr int kWeightSteps = kLargestWeight;
    static constexpr bool kRoundsQuery = true;
    static constexpr bool kKeepsSums = false;
    static std::int64_t group_bytes(std::int64_t kv_rank, std::int64_t n_rot) {
        return mla_i16::group_bytes(kv_rank + n_rot);
    }
    struct Place {
        std::int64_t row = 0, scales = 0;  // in bytes
        Place(std::int64_t position, std::int64_t kv_rank, std::int64_t n_rot) {
            const std::int64_t width = kv_rank + n_rot;
            const std::int64_t in_group = position % kGroup;
            const std::int64_t group = position / kGroup * mla_i16::group_bytes(width);
            row = group + in_group / 2 * 4 * width + 2 * (in_group % 2);
            scales = group + 2 * kGroup * width + 4 * in_group;
        }
        std::int64_t column(std::int64_t c) const { return row + 4 * c; }
        std::int64_t scale(int part) const { return scales + 4 * kGroup * part; }
    };
    static int get(const std::byte* cache, const Place& place, std::int64_t c) {
        std::int16_t value = 0;
        std::memcpy(&value, cache + place.column(c), sizeof value);
        return value;
    }
    static void put(std::byte* cache, const Place& place, std::int64_t c, int steps) {
        const auto value = static_cast<std::int16_t>(steps);
        std::memcpy(cache + place.column(c), &value, sizeof value);
    }
    static std::vector<Shape> odd_shapes(auto& random) {
        return {{1, 1, 2, 1},
                {3, 40, 6, 5},
                {3, 64, 32, 17},
                {7, 32, 64, 131},
                {5, 512, 64, 7},
                {2, 1000, 40, 33},
                {random.integer(1, 24), 8 * random.integer(1, 80), 8 * random.integer(1, 16),
                 random.integer(1, 400)}};
    }
};

}  // namespace mla_i16

using MlaAttentionI16 = AttentionOp<GroupedCodec<mla_i16::Format>>;

}  // namespace steady
