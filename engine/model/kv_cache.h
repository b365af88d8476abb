// What attention remembers of the positions so far, for one arm. The latent form keeps one row per
// position, shared by all heads; the full form keeps keys and values of every head and is what the
// materialised step reads.
#pragma once

#include <cstdint>

#include "engine/model/config.h"
#include "kernels/base/formats.h"

namespace steady {

class KvCache {
public:
    // Latent: [n_blocks][context][kv_rank + n_rot] values of `type` (f32, f16 or bf16).
    // Full: [n_blocks][heads][context][n_value + head_size], value first, then key.
    // Error with the arithmetic shown if it does not fit into available memory.
    KvCache(const Config& config, std::int64_t context, bool full, Type type);
    ~KvCache();
    KvCache(const KvCache&) = delete;
    KvCache& operator=(const KvCache&) = delete;

    std::int64_t context() const { return context_; }
    std::int64_t bytes() const { return bytes_; }
    std::int64_t row_bytes() const { return row_bytes_; }
    Type type() const { return type_; }
    // Row of `position`, latent form.
    std::byte* row(std::int64_t block, std::int64_t position) const {
        return data_ + (block * context_ + position) * row_bytes_;
    }
    // Row of a head at `position`, full form.
    std::byte* row(std::int64_t block, std::int64_t head, std::int64_t position) const {
        return data_ + ((block * n_heads_ + head) * context_ + position) * row_bytes_;
    }
    // In every block, and for every head of the full form: the first n units of unit_bytes again
    // and again up to n_units of them.
    void repeat(std::int64_t n, std::int64_t n_units, std::int64_t unit_bytes);

private:
    std::byte* data_ = nullptr;
    Type type_ = Type::f32;
    std::int64_t context_ = 0, row_bytes_ = 0, n_heads_ = 1, bytes_ = 0;
};

}  // namespace steady
