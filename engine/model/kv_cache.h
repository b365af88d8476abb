// What attention remembers of the positions so far, for one arm. The latent forms keep one row per
// position, shared by all heads, as values of a type or rounded to integers; the full form keeps
// keys and values of every head and is what the materialised step reads. It lies where its arm
// runs.
#pragma once

#include <cstdint>

#include "engine/exec/alternatives.h"
#include "engine/model/config.h"
#include "kernels/attention/grouped_cache.h"
#include "kernels/formats/formats.h"

namespace steady {

// How a cache keeps positions; `type` is that of the values, `format` that of integers, in the form
// of groups.
struct CacheKind {
    CacheForm form = CacheForm::rows;
    Type type = Type::f32;
    const CacheFormat* format = nullptr;
};

class KvCache {
public:
    // Error with the arithmetic shown if it does not fit into available memory.
    KvCache(const Config& config, std::int64_t context, const CacheKind& kind, bool on_gpu = false);
    ~KvCache();
    KvCache(const KvCache&) = delete;
    KvCache& operator=(const KvCache&) = delete;

    std::int64_t context() const { return context_; }
    std::int64_t bytes() const { return bytes_; }
    std::int64_t row_bytes() const { return row_bytes_; }  // of a position, on average in groups
    Type type() const { return kind_.type; }
    // The latent row of one position of a block, form groups.
    void store(std::int64_t block, std::int64_t position, const float* row) const {
        kind_.format->store(groups(block), position, row, kv_rank_, width_ - kv_rank_);
    }
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
    CacheKind kind_;
    std::int64_t context_ = 0, width_ = 0, kv_rank_ = 0, row_bytes_ = 0, n_heads_ = 1;
    std::int64_t region_ = 0;  // bytes of a block, or of a head of the full form
    std::int64_t bytes_ = 0;
};

}  // namespace steady
