// Args hold plain pointers, so each word of theirs that points into the case's host memory is
// exchanged for the address in the GPU's copy of it.
#include "kernels/tool/gpu_trial.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "kernels/base/error.h"
#include "kernels/tool/cold_weights.h"

namespace steady::tool {
namespace {

// As the engine aligns weights; a host block keeps its place within such a unit.
constexpr std::size_t kDeviceUnit = 256;
// Of the second-level cache: the least that lies between two uses of the same weights.
constexpr std::int64_t kTimesCache = 3;
// Of all copies together: of a matrix of which few rows are used, fewer copies must do.
constexpr std::int64_t kMostBytes = std::int64_t{24} << 30;
constexpr std::size_t kFewestCalls = 16, kMostCalls = 4096;  // in a graph

// The used rows of one matrix in the variant's layout, and where they begin in it.
struct Packed {
    std::int64_t begin = 0;
    std::vector<std::byte> bytes;
};

std::vector<Packed> packed(const WeightRef& weight, const VariantBase& variant) {
    std::vector<Packed> parts;
    for (const Range& used : weight.used) {
        const std::int64_t rows = used.end - used.begin;
        const std::byte* src = weight.data + used.begin * weight.row_bytes;
        Packed part;
        part.begin = bytes_in_layout(weight, variant, used.begin);
        part.bytes.resize(static_cast<std::size_t>(bytes_in_layout(weight, variant, rows)));
        if (variant.pack != nullptr) {
            variant.pack({rows, weight.shape.cols, weight.shape.type}, src, part.bytes.data());
        } else {
            std::memcpy(part.bytes.data(), src, part.bytes.size());
        }
        parts.push_back(std::move(part));
    }
    return parts;
}

}  // namespace

std::byte* GpuTrial::allocate(std::size_t bytes, std::size_t offset) {
    allocations_.push_back(gpu::allocate(static_cast<std::int64_t>(bytes + 2 * kDeviceUnit)));
    return static_cast<std::byte*>(allocations_.back()) + offset % kDeviceUnit;
}

GpuTrial::GpuTrial(Trial& trial, const VariantBase& variant, bool warm)
    : trial_(&trial), host_args_(trial.args.begin(), trial.args.end()) {
    if (trial.args.empty()) {
        throw Error{fmt::format("{}: its cases cannot be copied to a GPU", variant.op),
                    kExitInternal};
    }
    for (const EdgeBuffer* buffer : trial.memory->buffers()) {
        const auto address = reinterpret_cast<std::uintptr_t>(buffer->data());
        const bool weights =
            std::any_of(trial.weights->begin(), trial.weights->end(), [&](const WeightRef& weight) {
                return weight.data >= buffer->data() &&
                       weight.data < buffer->data() + buffer->size();
            });
        if (weights) continue;  // placed by themselves
        Block block{buffer->data(), buffer->size(), allocate(buffer->size(), address)};
        gpu::upload(block.device, block.host, static_cast<std::int64_t>(block.bytes));
        blocks_.push_back(block);
    }
    place_weights(variant, warm);
}

void GpuTrial::place_weights(const VariantBase& variant, bool warm) {
    std::int64_t in_file = 0, in_layout = 0, allocated = 1;
    std::vector<std::vector<Packed>> matrices;
    for (const WeightRef& weight : *trial_->weights) {
        matrices.push_back(packed(weight, variant));
        allocated += bytes_in_layout(weight, variant, weight.shape.rows);
        for (const Range& used : weight.used) in_file += (used.end - used.begin) * weight.row_bytes;
        for (const Packed& part : matrices.back()) {
            in_layout += static_cast<std::int64_t>(part.bytes.size());
        }
    }
    std::size_t copies = 1;
    if (in_layout > 0) {
        layout_ratio_ = static_cast<double>(in_layout) / static_cast<double>(in_file);
        const std::int64_t cold = kTimesCache * gpu::info().l2_bytes;
        const std::int64_t wanted = (cold + in_layout - 1) / in_layout + 1;
        const std::int64_t most = std::max<std::int64_t>(1, kMostBytes / allocated);
        if (!warm) copies = static_cast<std::size_t>(std::min(wanted, most));
    }
    for (std::size_t copy = 0; copy < copies; ++copy) {
        for (std::size_t i = 0; i < matrices.size(); ++i) {
            const WeightRef& weight = (*trial_->weights)[i];
            const auto whole = bytes_in_layout(weight, variant, weight.shape.rows);
            std::byte* device = allocate(static_cast<std::size_t>(whole), 0);
            for (const Packed& part : matrices[i]) {
                gpu::upload(device + part.begin, part.bytes.data(),
                            static_cast<std::int64_t>(part.bytes.size()));
            }
            weight.set(device);
        }
        args_.emplace_back(trial_->args.begin(), trial_->args.end());
        move_pointers(args_.back());
    }
}

void GpuTrial::move_pointers(std::vector<std::byte>& args) const {
    for (std::size_t at = 0; at + sizeof(std::uintptr_t) <= args.size(); at += alignof(void*)) {
        std::uintptr_t word = 0;
        std::memcpy(&word, args.data() + at, sizeof word);
        for (const Block& block : blocks_) {
            const auto first = reinterpret_cast<std::uintptr_t>(block.host);
            if (word < first || word >= first + block.bytes) continue;
            word = reinterpret_cast<std::uintptr_t>(block.device) + (word - first);
            std::memcpy(args.data() + at, &word, sizeof word);
            break;
        }
    }
}

void GpuTrial::enqueue(const VariantBase& variant, std::size_t call) {
    const std::vector<std::byte>& args = args_[call % args_.size()];
    std::memcpy(trial_->args.data(), args.data(), args.size());
    for (std::size_t phase = 0; phase < trial_->phase_rows.size(); ++phase) {
        trial_->run(variant, {0, trial_->phase_rows[phase], static_cast<int>(phase)});
    }
}

GpuTrial::~GpuTrial() {
    std::memcpy(trial_->args.data(), host_args_.data(), host_args_.size());
    for (void* each : allocations_) gpu::release(each);
}

GpuCalls::GpuCalls(GpuTrial& trial, const VariantBase& variant)
    : trial_(&trial), variant_(&variant) {
    const std::size_t turns = (kFewestCalls + trial.copies() - 1) / trial.copies();
    n_ = std::min(kMostCalls, turns * trial.copies());
    graph_.record(gpu::Launch::graph, enqueue, this);
    issue_ns(2);
}

void GpuCalls::enqueue(void* context) {
    const GpuCalls& calls = *static_cast<const GpuCalls*>(context);
    for (std::size_t i = 0; i < calls.n_; ++i) calls.trial_->enqueue(*calls.variant_, i);
}

double GpuCalls::issue_ns(int times) {
    watch_.start();
    for (int i = 0; i < times; ++i) graph_.issue();
    return watch_.stop_ns() / times / static_cast<double>(n_);
}

void use_gpu(const std::string& device) {
    const std::size_t colon = device.find(':');
    gpu::use(colon == std::string::npos ? 0 : std::stoi(device.substr(colon + 1)));
}

}  // namespace steady::tool
