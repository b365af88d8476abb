// A case in a GPU's memory, with enough copies of its weights that no cache holds them, and calls
// of a variant on it: what variants of the GPU are timed by.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/cases/op_info.h"
#include "kernels/runtime/gpu.h"

namespace steady::tool {

class GpuTrial {
public:
    // For variants that read what `variant` reads: its input form and its layout. `warm`: one copy
    // of the weights. Error where the op's Args cannot be moved to a GPU, or its memory does not
    // hold the copies. While it lives, the trial is its own.
    GpuTrial(Trial& trial, const VariantBase& variant, bool warm);
    ~GpuTrial();
    GpuTrial(const GpuTrial&) = delete;
    GpuTrial& operator=(const GpuTrial&) = delete;

    std::size_t copies() const { return args_.size(); }
    // Bytes of the used weights in the variant's layout over those in the file's; 1 without
    // weights.
    double layout_ratio() const { return layout_ratio_; }
    // Enqueues the op once, over copy call % copies().
    void enqueue(const VariantBase& variant, std::size_t call);

private:
    struct Block {
        const std::byte* host = nullptr;
        std::size_t bytes = 0;
        std::byte* device = nullptr;  // where host's first byte is
    };
    std::byte* allocate(std::size_t bytes, std::size_t offset);
    void move_pointers(std::vector<std::byte>& args) const;
    void place_weights(const VariantBase& variant, bool warm);

    Trial* trial_;
    double layout_ratio_ = 1;
    std::vector<void*> allocations_;
    std::vector<Block> blocks_;
    std::vector<std::vector<std::byte>> args_;  // one per copy of the weights
    std::vector<std::byte> host_args_;
};

// Calls of one variant, recorded as a graph as the engine issues them, with each copy of the
// weights equally often. Loads the variant's code. The trial outlives it.
class GpuCalls {
public:
    GpuCalls(GpuTrial& trial, const VariantBase& variant);
    std::size_t per_issue() const { return n_; }
    // Nanoseconds per call of so many issues of the graph, by CUDA's events.
    double issue_ns(int times);

private:
    static void enqueue(void* context);

    GpuTrial* trial_;
    const VariantBase* variant_;
    std::size_t n_;
    gpu::Graph graph_;
    gpu::Watch watch_;
};

// Chooses the GPU that --device names.
void use_gpu(const std::string& device);

}  // namespace steady::tool
