// Kernels that come as PTX: what another compiler generated. The driver compiles them on first use.
// For .cu files alone.
#pragma once

#include "kernels/cuda/launch.h"

namespace steady::cuda {

struct PtxKernel {
    const char* ptx;           // ends with a zero byte
    const char* name;          // of its entry
    void* function = nullptr;  // once loaded
    cudaError_t failure = cudaSuccess;
};

// As launch(), with the addresses of the kernel's parameters. What cannot be loaded fails every
// launch, and is not loaded again.
void launch_ptx(PtxKernel& kernel, const Size& size, void** params) noexcept;

}  // namespace steady::cuda
