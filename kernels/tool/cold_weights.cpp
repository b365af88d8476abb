// Each matrix gets one mapping that holds all its copies, on huge pages where the system gives
// them, as the engine keeps its weights.
#include "kernels/tool/cold_weights.h"

#include <emmintrin.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <new>

namespace steady::tool {
namespace {

// Virtual machines may see a smaller cache than they use.
constexpr std::int64_t kLeastColdBytes = 256 << 20;
constexpr std::size_t kAlign = 64;  // a cache line
constexpr std::size_t kHugePage = 2 << 20;

struct UsedBytes {
    std::int64_t file = 0, layout = 0;
};

UsedBytes used_bytes(const Trial& trial, const VariantBase& variant) {
    UsedBytes bytes;
    for (const WeightRef& weight : *trial.weights) {
        for (const Range& used : weight.used) {
            bytes.file += (used.end - used.begin) * weight.row_bytes;
            bytes.layout += bytes_in_layout(weight, variant, used.end - used.begin);
        }
    }
    return bytes;
}

}  // namespace

std::int64_t bytes_in_layout(const WeightRef& weight, const VariantBase& variant,
                             std::int64_t rows) {
    return variant.pack != nullptr
               ? variant.packed_bytes({rows, weight.shape.cols, weight.shape.type})
               : rows * weight.row_bytes;
}

ColdWeights::ColdWeights(Trial& trial, const VariantBase& variant, bool warm, std::size_t calls)
    : trial_(&trial) {
    const UsedBytes used = used_bytes(trial, variant);
    if (used.file > 0) {
        layout_ratio_ = static_cast<double>(used.layout) / static_cast<double>(used.file);
    }
    if (used.layout > 0 && !warm) {
        const std::int64_t cold = std::max(3 * cpu::last_level_cache_bytes(), kLeastColdBytes);
        n_copies_ = static_cast<std::size_t>((cold + used.layout - 1) / used.layout);
    }
    const bool few = calls < n_copies_;  // what is read once need not exceed the cache
    if (few) n_copies_ = std::max<std::size_t>(calls, 1);
    for (const WeightRef& weight : *trial.weights) {
        mappings_.emplace_back();
        fill(mappings_.back(), weight, variant);
        if (few) evict(mappings_.back());
    }
    use(0);
}

void ColdWeights::fill(Mapping& mapping, const WeightRef& weight, const VariantBase& variant) {
    const auto bytes_of = [&](std::int64_t rows) { return bytes_in_layout(weight, variant, rows); };
    const auto matrix = static_cast<std::size_t>(bytes_of(weight.shape.rows));
    const std::size_t stride = (matrix + kAlign - 1) / kAlign * kAlign;
    mapping.bytes = n_copies_ * stride + kHugePage;
    mapping.address = mmap(nullptr, mapping.bytes, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapping.address == MAP_FAILED) throw std::bad_alloc();
    madvise(mapping.address, mapping.bytes, MADV_HUGEPAGE);
    auto* base = static_cast<std::byte*>(mapping.address);
    for (std::size_t copy = 0; copy < n_copies_; ++copy) {
        mapping.offsets.push_back(copy * stride);
        for (const Range& used : weight.used) {
            const std::byte* src = weight.data + used.begin * weight.row_bytes;
            std::byte* dst = base + copy * stride + bytes_of(used.begin);
            const auto bytes = static_cast<std::size_t>(bytes_of(used.end - used.begin));
            if (copy > 0) {
                std::memcpy(dst, base + bytes_of(used.begin), bytes);
            } else if (variant.pack != nullptr) {
                variant.pack({used.end - used.begin, weight.shape.cols, weight.shape.type}, src,
                             dst);
            } else {
                std::memcpy(dst, src, bytes);
            }
        }
    }
}

void ColdWeights::evict(const Mapping& mapping) const {
    const auto* base = static_cast<const std::byte*>(mapping.address);
    for (std::size_t at = 0; at < mapping.bytes - kHugePage; at += kAlign) _mm_clflush(base + at);
    _mm_mfence();
}

ColdWeights::~ColdWeights() {
    for (const Mapping& mapping : mappings_) munmap(mapping.address, mapping.bytes);
    for (const WeightRef& weight : *trial_->weights) weight.set(weight.data);
}

void ColdWeights::use(std::size_t call) {
    for (std::size_t i = 0; i < mappings_.size(); ++i) {
        const auto* base = static_cast<const std::byte*>(mappings_[i].address);
        (*trial_->weights)[i].set(base + mappings_[i].offsets[call % n_copies_]);
    }
}

}  // namespace steady::tool
