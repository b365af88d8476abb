// The cache is mapped at its full size and touched when it is made, so that no page of it is first
// touched inside a timed token.
#include "engine/model/kv_cache.h"

#include <fmt/core.h>
#include <sys/mman.h>

#include <cstring>
#include <vector>

#include "engine/model/weight_store.h"
#include "kernels/runtime/gpu.h"

namespace steady {
namespace {

// Of a position, on average in groups; integers have their scales besides.
std::int64_t bytes_of_row(const CacheKind& kind, std::int64_t width, std::int64_t kv_rank) {
    const CacheFormat* format = kind.format;
    if (format == nullptr) return row_bytes(kind.type, width);
    return format->group_bytes(kv_rank, width - kv_rank) / format->group;
}

}  // namespace

KvCache::KvCache(const Config& config, std::int64_t context, const CacheKind& kind, bool on_gpu)
    : on_gpu_(on_gpu), kind_(kind), context_(context) {
    if (context < 1 || context > (std::int64_t{1} << 24)) {
        throw Error{fmt::format("context: {} positions; allowed 1 … {}", context, 1 << 24)};
    }
    const bool full = kind.form == CacheForm::full;
    const std::int64_t group = kind.format == nullptr ? 1 : kind.format->group;
    width_ = full ? config.n_value + config.head_size() : config.latent_size();
    n_heads_ = full ? config.n_heads : 1;
    kv_rank_ = config.kv_rank;
    row_bytes_ = bytes_of_row(kind, width_, kv_rank_);
    region_ = (context + group - 1) / group * group * row_bytes_;
    bytes_ = config.n_blocks * n_heads_ * region_;
    check_room(config);
    if (on_gpu) {
        data_ = static_cast<std::byte*>(gpu::allocate(bytes_));
        gpu::fill_zero(data_, bytes_);
        return;
    }
    void* memory = mmap(nullptr, static_cast<std::size_t>(bytes_), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        throw Error{fmt::format("cannot map {} of KV cache", human_bytes(bytes_)), kExitInternal};
    }
    madvise(memory, static_cast<std::size_t>(bytes_), MADV_HUGEPAGE);
    std::memset(memory, 0, static_cast<std::size_t>(bytes_));
    data_ = static_cast<std::byte*>(memory);
}

void KvCache::check_room(const Config& config) const {
    const std::int64_t available = on_gpu_ ? gpu::info().free_bytes : available_memory_bytes();
    if (available > 0 && bytes_ > available) {
        throw Error{fmt::format(
            "context: {} blocks × {} rows × {} positions × {} values × {} bytes = {} of KV cache, "
            "and {} of memory are available; ask for at most {} positions",
            config.n_blocks, n_heads_, context_, width_,
            kind_.format != nullptr ? kind_.format->value_bytes : block_bytes(kind_.type),
            human_bytes(bytes_), human_bytes(available),
            available / (config.n_blocks * n_heads_ * row_bytes_))};
    }
}

void KvCache::copy(std::byte* region, std::int64_t from, std::int64_t to) const {
    if (kind_.format != nullptr) {
        return kind_.format->copy(region, from, to, kv_rank_, width_ - kv_rank_);
    }
    std::memcpy(region + to * row_bytes_, region + from * row_bytes_,
                static_cast<std::size_t>(row_bytes_));
}

void KvCache::repeat(std::int64_t n, std::int64_t n_positions) {
    if (n_positions > context_) {
        throw Error{fmt::format("context: {} positions do not hold {}", context_, n_positions)};
    }
    std::vector<std::byte> there(on_gpu_ ? static_cast<std::size_t>(region_) : 0);
    for (std::byte* region = data_; region < data_ + bytes_; region += region_) {
        std::byte* rows = on_gpu_ ? there.data() : region;
        if (on_gpu_) gpu::download(rows, region, region_);
        for (std::int64_t i = n; i < n_positions; ++i) copy(rows, i % n, i);
        if (on_gpu_) gpu::upload(region, rows, region_);
    }
}

KvCache::~KvCache() {
    if (on_gpu_) {
        gpu::release(data_);
    } else {
        munmap(data_, static_cast<std::size_t>(bytes_));
    }
}

}  // namespace steady
