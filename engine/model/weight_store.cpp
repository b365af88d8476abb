// Placement and loading. Reading is cut into pieces of a few megabytes, so that a packing variant
// needs one small staging buffer per thread and a 17 GB file keeps both CPUs and the disk busy.
#include "engine/model/weight_store.h"

#include <fmt/core.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <exception>
#include <fstream>
#include <thread>

namespace steady {
namespace {

constexpr std::int64_t kAlignment = 64;
constexpr std::int64_t kPieceBytes = 8 << 20;
// Headroom that loading leaves to the rest of the machine.
constexpr std::int64_t kKeepFree = 256 << 20;

std::int64_t source_row_bytes(const Tensor& tensor) {
    return row_bytes(tensor.type, static_cast<std::int64_t>(tensor.dims[0]));
}

std::int64_t aligned(std::int64_t bytes) {
    return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

bool packs(const Placement& placement) {
    return placement.packer != nullptr && placement.packer->pack != nullptr;
}

// One row in blocks of 32 with a scale each.
void store_q8_0(const float* x, std::int64_t n, BlockQ8_0* blocks) {
    for (std::int64_t b = 0; b < n / 32; ++b) {
        float most = 0;
        for (int j = 0; j < 32; ++j) most = std::max(most, std::fabs(x[32 * b + j]));
        blocks[b].d = float_to_half(most / 127.0F);
        const float d = half_to_float(blocks[b].d);
        for (int j = 0; j < 32; ++j) {
            const float q = d > 0 ? std::nearbyint(x[32 * b + j] / d) : 0;
            blocks[b].qs[j] = static_cast<std::int8_t>(std::clamp(q, -127.0F, 127.0F));
        }
    }
}

std::int64_t status_kb(const char* path, const std::string& field) {
    std::ifstream in(path);
    for (std::string line; std::getline(in, line);) {
        if (line.rfind(field, 0) == 0) return std::stoll(line.substr(field.size() + 1));
    }
    return 0;
}

}  // namespace

std::int64_t available_memory_bytes() { return status_kb("/proc/meminfo", "MemAvailable") * 1024; }
std::int64_t resident_bytes() { return status_kb("/proc/self/status", "VmRSS") * 1024; }
std::int64_t peak_resident_bytes() { return status_kb("/proc/self/status", "VmHWM") * 1024; }

std::string human_bytes(std::int64_t bytes) {
    const auto value = static_cast<double>(bytes);
    if (bytes >= 1'000'000'000) return fmt::format("{:.2f} GB", value / 1e9);
    return fmt::format("{:.1f} MB", value / 1e6);
}

Type Placement::type() const {
    if (transposed_f32) return Type::f32;
    return times != nullptr ? Type::q8_0 : tensor->type;
}

std::int64_t Placement::n_rows() const {
    return groups * (times != nullptr ? static_cast<std::int64_t>(times->dims[1]) : rows);
}

WeightStore::WeightStore(const GgufFile& file, int shared_descriptor) : file_(&file) {
    if (shared_descriptor >= 0) shared_ = std::make_unique<SharedWeights>(shared_descriptor, file);
}

WeightStore::~WeightStore() {
    for (const Mapping& mapping : private_) munmap(mapping.address, mapping.bytes);
}

std::span<const std::byte> WeightStore::largest() const {
    std::span<const std::byte> most;
    for (const auto& stretch : stretches_) {
        if (stretch.size() > most.size()) most = stretch;
    }
    return most;
}

std::int64_t WeightStore::bytes_of(const Placement& placement) {
    const auto cols = static_cast<std::int64_t>(placement.tensor->dims[0]);
    const std::int64_t n_rows = placement.n_rows();
    if (packs(placement)) return placement.packer->packed_bytes({n_rows, cols, placement.type()});
    return n_rows * row_bytes(placement.type(), cols);
}

const std::byte* WeightStore::place(const Placement& placement) {
    // One layout of one weight type is one packing function, whichever op's variant names it.
    std::string_view form = packs(placement) ? placement.packer->layout : "gguf";
    if (placement.transposed_f32) form = "transposed_f32";
    std::string key = fmt::format("{}/{}/{}", placement.tensor->name, placement.first_row, form);
    if (placement.times != nullptr) key += "/times " + placement.times->name;
    const auto [known, is_new] = known_.emplace(key, nullptr);
    if (is_new) waiting_.push_back({placement, std::move(key), bytes_of(placement)});
    return known->second;
}

void WeightStore::check_memory(std::int64_t needed) const {
    const std::int64_t available = available_memory_bytes();
    if (needed == 0 || available == 0 || needed + kKeepFree <= available) return;
    throw Error{fmt::format(
        "{}: weights need {} + {} to spare, {} are available now; free memory, use a smaller "
        "model, or give both arms kernels of the same layout",
        file_->path(), human_bytes(needed), human_bytes(kKeepFree), human_bytes(available))};
}

// What was asked for and did not come is asked for anew the next time.
void WeightStore::forget_waiting() {
    for (const Item& item : waiting_) known_.erase(item.key);
    waiting_.clear();
    if (shared_) shared_->abandon();
}

void WeightStore::reserve() {
    if (waiting_.empty()) return;
    try {
        shared_ ? reserve_shared() : reserve_private();
    } catch (...) {
        forget_waiting();
        throw;
    }
    for (const Item& item : waiting_) known_[item.key] = item.data;
}

void WeightStore::reserve_private() {
    std::int64_t needed = 0;
    for (const Item& item : waiting_) needed += aligned(item.bytes);
    check_memory(needed);
    const auto room = static_cast<std::size_t>(needed + kHugePage);
    void* memory = mmap(nullptr, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        throw Error{
            fmt::format("cannot map {} for the weights of {}", human_bytes(needed), file_->path()),
            kExitInternal};
    }
    madvise(memory, room, MADV_HUGEPAGE);
    private_.push_back({memory, room});
    // Huge pages start at multiples of their size.
    const auto address = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(memory));
    std::byte* next =
        static_cast<std::byte*>(memory) + (kHugePage - address % kHugePage) % kHugePage;
    stretches_.emplace_back(next, static_cast<std::size_t>(needed));
    for (Item& item : waiting_) {
        item.data = next;
        next += aligned(item.bytes);
    }
    bytes_ += needed;
}

void WeightStore::reserve_shared() {
    shared_->begin();
    std::vector<std::int64_t> offsets;
    std::vector<bool> there;
    std::int64_t needed = 0;
    for (const Item& item : waiting_) {
        const std::uint64_t key = shared_key(item.key);
        const auto found = shared_->find(key, item.bytes);
        offsets.push_back(found ? *found : shared_->append(key, item.bytes));
        there.push_back(found.has_value());
        if (!found) needed += aligned(item.bytes);
        bytes_ += aligned(item.bytes);
    }
    check_memory(needed);
    std::byte* base = shared_->map();
    std::vector<Item> missing;
    for (std::size_t i = 0; i < waiting_.size(); ++i) {
        waiting_[i].data = base + offsets[i];
        known_[waiting_[i].key] = waiting_[i].data;
        const auto size = static_cast<std::size_t>(waiting_[i].bytes);
        stretches_.emplace_back(waiting_[i].data, size);
        if (!there[i]) missing.push_back(waiting_[i]);
    }
    waiting_ = std::move(missing);
}

void WeightStore::load(int threads) {
    std::atomic<std::size_t> next{0};
    std::atomic<bool> failed{false};
    std::exception_ptr error;
    const auto work = [&] {
        for (std::size_t i = next++; i < waiting_.size() && !failed; i = next++) {
            try {
                load_item(waiting_[i]);
            } catch (...) {
                if (!failed.exchange(true)) error = std::current_exception();
            }
        }
    };
    std::vector<std::thread> helpers;
    for (int i = 1; i < threads; ++i) helpers.emplace_back(work);
    work();
    for (std::thread& helper : helpers) helper.join();
    if (error) {
        forget_waiting();
        std::rethrow_exception(error);
    }
    for (const Item& item : waiting_) loaded_ += item.bytes;
    waiting_.clear();
    if (shared_) shared_->publish();
}

// Reads rows [first, first + n) of a group as they are in the file.
void WeightStore::load_rows(const Item& item, std::int64_t group, std::int64_t first,
                            std::int64_t n, std::byte* dst) const {
    const Placement& p = item.placement;
    const std::int64_t stride = source_row_bytes(*p.tensor);
    const std::int64_t row = group * p.group_stride + p.first_row + first;
    file_->read(*p.tensor, {dst, static_cast<std::size_t>(n * stride)},
                static_cast<std::uint64_t>(row * stride));
}

void WeightStore::load_transposed(const Item& item, std::int64_t group) const {
    const Placement& p = item.placement;
    const auto cols = static_cast<std::int64_t>(p.tensor->dims[0]);
    const auto values = floats_of(*p.tensor, group * p.group_stride + p.first_row, p.rows);
    float* out = reinterpret_cast<float*>(item.data) + group * p.rows * cols;
    for (std::int64_t r = 0; r < p.rows; ++r) {
        for (std::int64_t c = 0; c < cols; ++c) {
            out[c * p.rows + r] = values[static_cast<std::size_t>(r * cols + c)];
        }
    }
}

std::vector<float> WeightStore::floats_of(const Tensor& tensor, std::int64_t first,
                                          std::int64_t n) const {
    const auto cols = static_cast<std::int64_t>(tensor.dims[0]);
    const std::int64_t stride = source_row_bytes(tensor);
    std::vector<std::byte> raw(static_cast<std::size_t>(n * stride));
    file_->read(tensor, raw, static_cast<std::uint64_t>(first * stride));
    std::vector<float> values(static_cast<std::size_t>(n * cols));
    for (std::int64_t r = 0; r < n; ++r) {
        dequantize(tensor.type, raw.data() + r * stride, values.data() + r * cols, cols);
    }
    return values;
}

void WeightStore::load_product(const Item& item, std::int64_t group) const {
    const Placement& p = item.placement;
    const auto cols = static_cast<std::int64_t>(p.tensor->dims[0]);
    const auto n_rows = static_cast<std::int64_t>(p.times->dims[1]);
    const std::int64_t stride = row_bytes(Type::q8_0, cols);
    const auto right = floats_of(*p.tensor, group * p.group_stride + p.first_row, p.rows);
    const auto left = floats_of(*p.times, group * n_rows, n_rows);
    std::vector<float> row(static_cast<std::size_t>(cols));
    std::vector<BlockQ8_0> rows(static_cast<std::size_t>(n_rows * cols / 32));
    for (std::int64_t r = 0; r < n_rows; ++r) {
        std::fill(row.begin(), row.end(), 0.0F);
        for (std::int64_t k = 0; k < p.rows; ++k) {
            const float factor = left[static_cast<std::size_t>(r * p.rows + k)];
            const float* from = right.data() + k * cols;
            float* to = row.data();
            for (std::int64_t c = 0; c < cols; ++c) to[c] += factor * from[c];
        }
        store_q8_0(row.data(), cols, rows.data() + r * cols / 32);
    }
    const auto* bytes = reinterpret_cast<const std::byte*>(rows.data());
    const std::int64_t placed = group * n_rows;
    if (!packs(p)) {
        std::memcpy(item.data + placed * stride, bytes, static_cast<std::size_t>(n_rows * stride));
        return;
    }
    std::byte* dst =
        item.data + (placed == 0 ? 0 : p.packer->packed_bytes({placed, cols, p.type()}));
    p.packer->pack({n_rows, cols, p.type()}, bytes, dst);
}

void WeightStore::load_item(const Item& item) const {
    const Placement& p = item.placement;
    const auto cols = static_cast<std::int64_t>(p.tensor->dims[0]);
    const std::int64_t stride = source_row_bytes(*p.tensor);
    const std::int64_t unit = packs(p) ? p.packer->pack_rows : 1;
    std::int64_t piece = std::max<std::int64_t>(kPieceBytes / stride / unit, 1) * unit;
    piece = std::min(piece, p.rows);
    std::vector<std::byte> staging;
    if (packs(p) && !p.transposed_f32) staging.resize(static_cast<std::size_t>(piece * stride));
    for (std::int64_t group = 0; group < p.groups; ++group) {
        if (p.transposed_f32 || p.times != nullptr) {
            p.transposed_f32 ? load_transposed(item, group) : load_product(item, group);
            continue;
        }
        for (std::int64_t first = 0; first < p.rows; first += piece) {
            const std::int64_t n = std::min(piece, p.rows - first);
            const std::int64_t placed = group * p.rows + first;  // rows already at item.data
            if (!packs(p)) {
                load_rows(item, group, first, n, item.data + placed * stride);
                continue;
            }
            load_rows(item, group, first, n, staging.data());
            std::byte* dst =
                item.data + (placed == 0 ? 0 : p.packer->packed_bytes({placed, cols, p.type()}));
            p.packer->pack({n, cols, p.type()}, staging.data(), dst);
        }
    }
}

}  // namespace steady
