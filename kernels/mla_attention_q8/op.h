// Attention of one token over a latent cache of bytes: what op mla_attention does, on a quarter of
// its memory and with integer products.
#pragma once

#include "kernels/attention/attention_op.h"
#include "kernels/attention/grouped_cache.h"
#include "kernels/attention/shape.h"

namespace steady {

using MlaQ8Shape = LatentShape<32>;

// The cache: groups of sixteen positions. A group has width / 4 times 64 bytes (byte 4p + i of the
// j-th: column 4j + i of position p, with 128 added), then 16 latent scales and 16 rotary scales.
namespace mla_q8 {

constexpr std::int64_t kGroup = 16;  // positions

inline std::int64_t group_bytes(std::int64_t width) { return kGroup * (width + 8); }
// Of the group's positions; the rotary ones follow the latent ones.
inline const float* scales(const std::byte* group, std::int64_t width) {
    return reinterpret_cast<const float*>(group + kGroup * width);
}

struct Format {
    static constexpr const char* kOp = "mla_attention_q8";
    static constexpr const char* kName = "bytes";
    using Shape = MlaQ8Shape;
    using Query = Activation;
    static constexpr std::int64_t kGroup = mla_q8::kGroup;
    static constexpr std::int64_t kScratchGroup = kGroup;
    static constexpr std::int64_t kValueBytes = 1;
    static constexpr int kLargest = 127;
    static constexpr int kWeightSteps = 65535;
    static constexpr bool kRoundsQuery = false;
    static constexpr bool kKeepsSums = false;
    static std::int64_t group_bytes(std::int64_t kv_rank, std::int64_t n_rot) {
        return mla_q8::group_bytes(kv_rank + n_rot);
    }
    struct Place {
        std::int64_t row = 0, scales = 0;  // in bytes
        Place(std::int64_t position, std::int64_t kv_rank, std::int64_t n_rot) {
            const std::int64_t width = kv_rank + n_rot;
            const std::int64_t group = position / kGroup * mla_q8::group_bytes(width);
            row = group + position % kGroup * 4;
            scales = group + kGroup * width + position % kGroup * 4;
        }
        std::int64_t column(std::int64_t c) const { return row + c / 4 * 64 + c % 4; }
        std::int64_t scale(int part) const { return scales + 4 * kGroup * part; }
    };
    static int get(const std::byte* cache, const Place& place, std::int64_t c) {
        return static_cast<int>(cache[place.column(c)]) - 128;
    }
    static void put(std::byte* cache, const Place& place, std::int64_t c, int steps) {
        cache[place.column(c)] = static_cast<std::byte>(steps + 128);
    }
    static std::vector<Shape> odd_shapes(auto& random) {
        return {{1, 32, 32, 1},
                {3, 64, 32, 17},
                {7, 32, 64, 131},
                {5, 512, 64, 7},
                {random.integer(1, 24), 32 * random.integer(1, 20), 32 * random.integer(1, 4),
                 random.integer(1, 400)}};
    }
};

}  // namespace mla_q8

using MlaAttentionQ8 = AttentionOp<GroupedCodec<mla_q8::Format>>;

}  // namespace steady
