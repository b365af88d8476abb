// Placement and loading. Reading is cut into pieces of a few megabytes, so that a packing variant
// needs one small staging buffer per thread and a 17 GB file keeps both CPUs and the disk busy.
#include "engine/model/weight_store.h"

#include <fmt/core.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <exception>
#include <fstream>
#include <thread>

namespace steady {
namespace {

constexpr std::int64_t kAlignment = 64;
constexpr std::int64_t kPieceBytes = 8 << 20;
constexpr std::int64_t kHugePage = 2 << 20;
// Headroom that loading leaves to the rest of the machine.
constexpr std::int64_t kKeepFree = 256 << 20;

std::int64_t source_row_bytes(const Tensor& tensor) {
    return row_bytes(tensor.type, static_cast<std::int64_t>(tensor.dims[0]));
}

bool packs(const Placement& placement) {
    return placement.packer != nullptr && placement.packer->pack != nullptr;
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

WeightStore::WeightStore(const GgufFile& file) : file_(&file) {
    // Room for two layouts of everything and float copies of the small matrices that need them.
    reserved_ = static_cast<std::int64_t>(file.file_bytes()) * 12 + (std::int64_t{1} << 30);
    void* memory = mmap(nullptr, static_cast<std::size_t>(reserved_), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) {
        throw Error{fmt::format("cannot reserve {} of address space for the weights of {}",
                                human_bytes(reserved_), file.path()),
                    kExitInternal};
    }
    madvise(memory, static_cast<std::size_t>(reserved_), MADV_HUGEPAGE);
    base_ = static_cast<std::byte*>(memory);
    // Huge pages start at multiples of their size.
    used_ = (kHugePage - static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(base_) %
                                                   static_cast<std::uintptr_t>(kHugePage))) %
            kHugePage;
    loaded_ = used_;
}

WeightStore::~WeightStore() { munmap(base_, static_cast<std::size_t>(reserved_)); }

std::int64_t WeightStore::bytes_of(const Placement& placement) {
    const auto cols = static_cast<std::int64_t>(placement.tensor->dims[0]);
    const std::int64_t n_rows = placement.groups * placement.rows;
    if (placement.transposed_f32) return n_rows * cols * 4;
    if (packs(placement)) return placement.packer->packed_bytes({n_rows, cols});
    return n_rows * source_row_bytes(*placement.tensor);
}

const std::byte* WeightStore::place(const Placement& placement) {
    // The same packing function gives the same bytes, whichever variant names it.
    std::string form = "gguf";
    if (packs(placement)) {
        form = fmt::format("{:x}", reinterpret_cast<std::uintptr_t>(placement.packer->pack));
    }
    if (placement.transposed_f32) form = "transposed_f32";
    const std::string key =
        fmt::format("{}/{}/{}", placement.tensor->name, placement.first_row, form);
    if (const auto found = known_.find(key); found != known_.end()) return found->second;
    const std::int64_t bytes = bytes_of(placement);
    std::byte* data = base_ + used_;
    used_ += (bytes + kAlignment - 1) / kAlignment * kAlignment;
    if (used_ > reserved_) {
        throw Error{fmt::format("{}: the layouts asked for need more than {}; ask for fewer",
                                file_->path(), human_bytes(reserved_)),
                    kExitInternal};
    }
    known_.emplace(key, data);
    waiting_.push_back({placement, data, bytes});
    return data;
}

void WeightStore::load(int threads) {
    const std::int64_t needed = used_ - loaded_;
    const std::int64_t available = available_memory_bytes();
    if (available > 0 && needed + kKeepFree > available) {
        throw Error{fmt::format(
            "{}: weights need {} + {} to spare, {} are available now; free memory, use a smaller "
            "model, or give both arms kernels of the same layout",
            file_->path(), human_bytes(needed), human_bytes(kKeepFree), human_bytes(available))};
    }
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
    if (error) std::rethrow_exception(error);
    waiting_.clear();
    loaded_ = used_;
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
    const std::int64_t stride = source_row_bytes(*p.tensor);
    std::vector<std::byte> raw(static_cast<std::size_t>(p.rows * stride));
    load_rows(item, group, 0, p.rows, raw.data());
    std::vector<float> row(static_cast<std::size_t>(cols));
    float* out = reinterpret_cast<float*>(item.data) + group * p.rows * cols;
    for (std::int64_t r = 0; r < p.rows; ++r) {
        dequantize(p.tensor->type, raw.data() + r * stride, row.data(), cols);
        for (std::int64_t c = 0; c < cols; ++c) {
            out[c * p.rows + r] = row[static_cast<std::size_t>(c)];
        }
    }
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
        if (p.transposed_f32) {
            load_transposed(item, group);
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
            std::byte* dst = item.data + (placed == 0 ? 0 : p.packer->packed_bytes({placed, cols}));
            p.packer->pack({n, cols}, staging.data(), dst);
        }
    }
}

}  // namespace steady
