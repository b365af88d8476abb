// The cache is mapped at its full size and touched when it is made, so that no page of it is first
// touched inside a timed token.
#include "engine/model/kv_cache.h"

#include <fmt/core.h>
#include <sys/mman.h>

#include <cstring>

#include "engine/model/weight_store.h"

namespace steady {

KvCache::KvCache(const Config& config, std::int64_t context, bool full, Type type)
    : type_(type), context_(context) {
    if (context < 1 || context > (std::int64_t{1} << 24)) {
        throw Error{fmt::format("context: {} positions; allowed 1 … {}", context, 1 << 24)};
    }
    const std::int64_t width = full ? config.n_value + config.head_size() : config.latent_size();
    n_heads_ = full ? config.n_heads : 1;
    row_bytes_ = steady::row_bytes(type, width);
    bytes_ = config.n_blocks * n_heads_ * context * row_bytes_;
    const std::int64_t available = available_memory_bytes();
    if (available > 0 && bytes_ > available) {
        throw Error{fmt::format(
            "context: {} blocks × {} rows × {} positions × {} values × {} bytes = {} of KV cache, "
            "and {} of memory are available; ask for at most {} positions",
            config.n_blocks, n_heads_, context, width, block_bytes(type), human_bytes(bytes_),
            human_bytes(available), available / (config.n_blocks * n_heads_ * row_bytes_))};
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

void KvCache::repeat(std::int64_t n, std::int64_t n_units, std::int64_t unit_bytes) {
    const std::int64_t region = context_ * row_bytes_;
    if (n_units * unit_bytes > region) {
        throw Error{fmt::format("context: {} positions do not hold {} × {} bytes", context_,
                                n_units, unit_bytes)};
    }
    for (std::byte* first = data_; first < data_ + bytes_; first += region) {
        for (std::int64_t i = n; i < n_units; ++i) {
            std::memcpy(first + i * unit_bytes, first + i % n * unit_bytes,
                        static_cast<std::size_t>(unit_bytes));
        }
    }
}

KvCache::~KvCache() { munmap(data_, static_cast<std::size_t>(bytes_)); }

}  // namespace steady
