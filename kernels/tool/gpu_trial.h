// A case in a GPU's memory, with enough copies of its weights that no cache holds them: what a
// variant of the GPU is timed on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/cases/op_info.h"

namespace steady::tool {

class GpuTrial {
public:
    // `warm`: one copy of the weights. Error where the op's Args cannot be moved to a GPU, or its
    // memory does not hold the copies.
    GpuTrial(Trial& trial, const VariantBase& variant, bool warm);
    ~GpuTrial();
    GpuTrial(const GpuTrial&) = delete;
    GpuTrial& operator=(const GpuTrial&) = delete;

    std::size_t copies() const { return args_.size(); }
    // Bytes of the used weights in the variant's layout over those in the file's; 1 without
    // weights.
    double layout_ratio() const { return layout_ratio_; }
    // Enqueues the op once, over copy call % copies().
    void enqueue(std::size_t call);

private:
    struct Block {
        const std::byte* host = nullptr;
        std::size_t bytes = 0;
        std::byte* device = nullptr;  // where host's first byte is
    };
    std::byte* allocate(std::size_t bytes, std::size_t offset);
    void move_pointers(std::vector<std::byte>& args) const;
    void place_weights(bool warm);

    Trial* trial_;
    const VariantBase* variant_;
    double layout_ratio_ = 1;
    std::vector<void*> allocations_;
    std::vector<Block> blocks_;
    std::vector<std::vector<std::byte>> args_;  // one per copy of the weights
    std::vector<std::byte> host_args_;
};

}  // namespace steady::tool
