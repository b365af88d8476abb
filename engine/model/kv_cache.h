// What attention remembers of the positions so far, for one arm. The latent form keeps one row per
// position, shared by all heads; the full form keeps keys and values of every head and is what the
// materialised step reads.
#pragma once

#include <cstdint>

#include "engine/model/config.h"

namespace steady {

class KvCache {
public:
    // Latent: [n_blocks][context][kv_rank + n_rot] floats.
    // Full: [n_blocks][heads][context][n_value + head_size] floats, value first, then key.
    // Error with the arithmetic shown if it does not fit into available memory.
    KvCache(const Config& config, std::int64_t context, bool full);
    ~KvCache();
    KvCache(const KvCache&) = delete;
    KvCache& operator=(const KvCache&) = delete;

    std::int64_t context() const { return context_; }
    std::int64_t bytes() const { return bytes_; }
    // Row of `position`, latent form.
    float* row(std::int64_t block, std::int64_t position) const {
        return data_ + (block * context_ + position) * width_;
    }
    // Row of a head at `position`, full form.
    float* row(std::int64_t block, std::int64_t head, std::int64_t position) const {
        return data_ + ((block * n_heads_ + head) * context_ + position) * width_;
    }

private:
    float* data_ = nullptr;
    std::int64_t context_ = 0, width_ = 0, n_heads_ = 1, bytes_ = 0;
};

}  // namespace steady
