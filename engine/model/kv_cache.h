// What attention remembers of the positions so far, for one arm. The latent forms keep one row per
// position, shared by all heads, as values of a type or rounded to integers; the full form keeps
// keys and values of every head and is what the materialised step reads. It lies where its arm
// runs.
#pragma once

#include <cstdint>

#include "engine/exec/steps.h"
#include "engine/model/config.h"
#include "kernels/formats/formats.h"

namespace steady {

class KvCache {
public:
    // `type` is that of the values, and not asked where they become integers. Error with the
    // arithmetic shown if it does not fit into available memory.
    KvCache(const Config& config, std::int64_t context, CacheForm form, Type type,
            bool on_gpu = false);
    ~KvCache();
    KvCache(const KvCache&) = delete;
    KvCache& operator=(const KvCache&) = delete;

    std::int64_t context() const { return context_; }
    std::int64_t bytes() const { return bytes_; }
    std::int64_t row_bytes() const { return row_bytes_; }  // of a position, on average in groups
    Type type() const { return type_; }
    // A block's positions in groups.
    std::byte* groups(std::int64_t block) const { return data_ + block * region_; }
    // Row of `position`, form rows.
    std::byte* row(std::int64_t block, std::int64_t position) const {
        return data_ + block * region_ + position * row_bytes_;
    }
    // Row of a head at `position`, form full.
    std::byte* row(std::int64_t block, std::int64_t head, std::int64_t position) const {
        return data_ + (block * n_heads_ + head) * region_ + position * row_bytes_;
    }
    // In every block, and for every head of the full form: the first n positions again and again
    // up to n_positions of them.
    void repeat(std::int64_t n, std::int64_t n_positions);

private:
    void check_room(const Config& config) const;
    void copy(std::byte* region, std::int64_t from, std::int64_t to) const;

    std::byte* data_ = nullptr;
    bool on_gpu_ = false;
    CacheForm form_ = CacheForm::rows;
    Type type_ = Type::f32;
    std::int64_t context_ = 0, width_ = 0, kv_rank_ = 0, row_bytes_ = 0, n_heads_ = 1;
    std::int64_t region_ = 0;  // bytes of a block, or of a head of the full form
    std::int64_t bytes_ = 0;
};

}  // namespace steady
