// Memory that notices misuse, and random contents that look like a model's.
#include "kernels/cases/case.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <new>
#include <string_view>

namespace steady {
namespace {

constexpr std::size_t kGuard = 64;
constexpr std::byte kGuardByte{0xA5};
constexpr std::size_t kLargestCopy = 1 << 20;  // larger inputs are remembered by their hash

bool is_written(Role role) { return role != Role::weights && role != Role::input; }

void set_half(std::byte* at, float value) {
    const Half half = float_to_half(value);
    std::memcpy(at, &half, sizeof half);
}

// Scales of one block. One block in 64 is zero, and d may be negative where the format has no min.
void set_scales(Type type, Random& random, std::byte* block) {
    const bool zero = random.next() % 64 == 0;
    const float d = zero ? 0 : random.uniform(0.2F, 1.0F);
    const float sign = random.next() % 2 == 0 ? 1.0F : -1.0F;
    switch (type) {
        case Type::q4_0:
        case Type::q5_0:
        case Type::q8_0:
            set_half(block, sign * d * (type == Type::q8_0 ? 1e-4F : 4e-3F));
            return;
        case Type::q4_1:
        case Type::q5_1:
            set_half(block, d * 4e-3F);
            set_half(block + 2, -d * 3e-2F);
            return;
        case Type::q4_k:
        case Type::q5_k:
            set_half(block, d * 1e-4F);
            set_half(block + 2, d * 1e-3F);
            return;
        case Type::q6_k:
            set_half(block + offsetof(BlockQ6_K, d), sign * d * 1e-5F);
            return;
        default:
            return;
    }
}

}  // namespace

std::uint64_t hash_bytes(const std::byte* data, std::size_t n) {
    return std::hash<std::string_view>{}({reinterpret_cast<const char*>(data), n});
}

EdgeBuffer::EdgeBuffer(std::size_t bytes) : size_(bytes) {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    const std::size_t body = (bytes + page - 1) / page * page;
    mapped_ = body + page;
    mapping_ = mmap(nullptr, mapped_, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapping_ == MAP_FAILED) throw std::bad_alloc();
    std::byte* base = static_cast<std::byte*>(mapping_);
    if (mprotect(base + body, page, PROT_NONE) != 0) throw std::bad_alloc();
    data_ = base + body - bytes;
}

EdgeBuffer::~EdgeBuffer() {
    if (mapping_ != nullptr) munmap(mapping_, mapped_);
}

EdgeBuffer::EdgeBuffer(EdgeBuffer&& other) noexcept
    : mapping_(other.mapping_), mapped_(other.mapped_), data_(other.data_), size_(other.size_) {
    other.mapping_ = nullptr;
}

std::byte* CaseMemory::add_bytes(Role role, std::size_t bytes) {
    // Behind an output there are guard bytes, so that a stray store is reported instead of fatal.
    const std::size_t guards = is_written(role) ? 2 * kGuard : 0;
    EdgeBuffer buffer(bytes + guards);
    std::byte* data = buffer.data() + guards / 2;
    if (guards != 0) {
        std::fill_n(buffer.data(), kGuard, kGuardByte);
        std::fill_n(data + bytes, kGuard, kGuardByte);
    }
    blocks_.push_back({role, std::move(buffer), bytes, data, {}, {}});
    return data;
}

void CaseMemory::seal() {
    for (Block& block : blocks_) {
        if (block.role == Role::output || block.role == Role::scratch) continue;
        if (block.role == Role::weights || block.bytes > kLargestCopy) {
            block.hash = hash_bytes(block.data, block.bytes);
        } else {
            block.initial.assign(block.data, block.data + block.bytes);
        }
    }
}

void CaseMemory::prepare(std::uint8_t prefill) {
    for (Block& block : blocks_) {
        if (block.role == Role::in_out) {
            std::copy(block.initial.begin(), block.initial.end(), block.data);
        } else if (block.role == Role::output || block.role == Role::scratch) {
            std::memset(block.data, prefill, block.bytes);
        }
    }
}

std::vector<std::byte> CaseMemory::outputs() const {
    std::vector<std::byte> joined;
    for (const Block& block : blocks_) {
        if (block.role != Role::output && block.role != Role::in_out) continue;
        joined.insert(joined.end(), block.data, block.data + block.bytes);
    }
    return joined;
}

std::vector<const EdgeBuffer*> CaseMemory::buffers() const {
    std::vector<const EdgeBuffer*> all;
    for (const Block& block : blocks_) all.push_back(&block.buffer);
    return all;
}

bool CaseMemory::inputs_unchanged() const {
    return std::all_of(blocks_.begin(), blocks_.end(), [](const Block& block) {
        if (is_written(block.role)) return true;
        if (block.hash) return block.hash == hash_bytes(block.data, block.bytes);
        return std::equal(block.initial.begin(), block.initial.end(), block.data);
    });
}

bool CaseMemory::guards_intact() const {
    const auto is_guard = [](std::byte b) { return b == kGuardByte; };
    return std::all_of(blocks_.begin(), blocks_.end(), [&](const Block& block) {
        if (!is_written(block.role)) return true;
        const std::byte* after = block.data + block.bytes;
        return std::all_of(block.data - kGuard, block.data, is_guard) &&
               std::all_of(after, after + kGuard, is_guard);
    });
}

double worst_ratio(const float* out, const std::vector<double>& expected,
                   const std::vector<double>& bound) {
    double worst = 0;
    for (std::size_t i = 0; i < expected.size(); ++i) {
        const double error = std::fabs(static_cast<double>(out[i]) - expected[i]);
        if (error == 0) continue;
        if (!(error < std::numeric_limits<double>::infinity())) return INFINITY;
        worst = std::max(worst, bound[i] > 0 ? error / bound[i] : INFINITY);
    }
    return worst;
}

WeightRef whole_matrix(Type type, std::int64_t rows, std::int64_t cols, const std::byte* data) {
    return {.shape = {rows, cols, type},
            .row_bytes = row_bytes(type, cols),
            .data = data,
            .set = {},
            .used = {{0, rows, 0}}};
}

void fill_weights(Type type, Random& random, std::int64_t rows, std::int64_t cols, std::byte* dst) {
    const std::int64_t bytes = rows * row_bytes(type, cols);
    if (type == Type::f32 || type == Type::f16 || type == Type::bf16) {
        for (std::int64_t i = 0; i < rows * cols; ++i) {
            const float value = random.uniform(-0.1F, 0.1F);
            if (type == Type::f32) {
                std::memcpy(dst + 4 * i, &value, 4);
            } else if (type == Type::f16) {
                set_half(dst + 2 * i, value);
            } else {
                std::memcpy(dst + 2 * i, reinterpret_cast<const std::byte*>(&value) + 2, 2);
            }
        }
        return;
    }
    for (std::int64_t i = 0; i < bytes; i += 8) {
        const std::uint64_t word = random.next();
        std::memcpy(dst + i, &word, static_cast<std::size_t>(std::min<std::int64_t>(8, bytes - i)));
    }
    const std::int64_t block = block_bytes(type);
    for (std::int64_t i = 0; i < bytes; i += block) set_scales(type, random, dst + i);
}

void fill_activations(Random& random, float* x, std::int64_t n) {
    float magnitude = 1;
    for (std::int64_t i = 0; i < n; ++i) {
        if (i % kActivationBlock == 0) {
            magnitude = random.next() % 32 == 0 ? 0 : random.uniform(0.05F, 3.0F);
        }
        x[i] = magnitude * random.uniform(-1.0F, 1.0F);
    }
}

void quantize_plain(const float* x, std::int64_t n, std::int8_t* q8, float* scale,
                    std::int32_t* sum) {
    for (std::int64_t b = 0; b < n / kActivationBlock; ++b) {
        const float* values = x + b * kActivationBlock;
        float largest = 0;
        for (int i = 0; i < kActivationBlock; ++i)
            largest = std::max(largest, std::fabs(values[i]));
        scale[b] = largest / 127.0F;
        sum[b] = 0;
        for (int i = 0; i < kActivationBlock; ++i) {
            const float q = scale[b] > 0 ? std::nearbyintf(values[i] / scale[b]) : 0.0F;
            const int clamped = static_cast<int>(std::clamp(q, -127.0F, 127.0F));
            q8[b * kActivationBlock + i] = static_cast<std::int8_t>(clamped);
            sum[b] += clamped;
        }
    }
}

void refine_plain(const float* x, std::int64_t n, const std::int8_t* q8, const float* scale,
                  std::int8_t* low, std::int32_t* sum16) {
    for (std::int64_t b = 0; b < n / kActivationBlock; ++b) {
        std::int32_t sum = 0;
        for (std::int64_t i = b * kActivationBlock; i < (b + 1) * kActivationBlock; ++i) {
            const float rest = scale[b] > 0 ? x[i] / scale[b] - static_cast<float>(q8[i]) : 0.0F;
            const float step = std::nearbyint(rest * 256.0F);
            low[i] = static_cast<std::int8_t>(std::clamp(step, -128.0F, 127.0F));
            sum += 256 * q8[i] + low[i];
        }
        sum16[b] = sum;
    }
}

Activation add_activation(CaseMemory& memory, Random& random, std::int64_t n) {
    float* f32 = memory.add<float>(Role::input, n);
    fill_activations(random, f32, n);
    const std::int64_t n_blocks = n / kActivationBlock;
    auto* q8 = memory.add<std::int8_t>(Role::input, n_blocks * kActivationBlock);
    auto* scale = memory.add<float>(Role::input, n_blocks);
    auto* sum = memory.add<std::int32_t>(Role::input, n_blocks);
    quantize_plain(f32, n_blocks * kActivationBlock, q8, scale, sum);
    auto* low = memory.add<std::int8_t>(Role::input, n_blocks * kActivationBlock);
    auto* sum16 = memory.add<std::int32_t>(Role::input, n_blocks);
    refine_plain(f32, n_blocks * kActivationBlock, q8, scale, low, sum16);
    return {f32, q8, scale, sum, low, sum16};
}

std::vector<double> values_of(const Activation& x, std::int64_t n, Input input) {
    std::vector<double> values(static_cast<std::size_t>(n));
    for (std::int64_t i = 0; i < n; ++i) {
        double& value = values[static_cast<std::size_t>(i)];
        if (input == Input::f32) {
            value = static_cast<double>(x.f32[i]);
            continue;
        }
        const double low = input == Input::q16 ? x.q8_low[i] / 256.0 : 0.0;
        value = (x.q8[i] + low) * static_cast<double>(x.q8_scale[i / kActivationBlock]);
    }
    return values;
}

}  // namespace steady
