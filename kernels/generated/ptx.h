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

// The same of a kernel in Triton, whose types the parameters have; behind them Triton adds kScratch
// pointers to what our kernels do not use.
template <int kScratch, class... Params>
void launch_triton_kernel(PtxKernel& kernel, const Size& size, Params... params) noexcept {
    void* none = nullptr;
    void* all[sizeof...(Params) + kScratch] = {&params...};
    for (int i = 0; i < kScratch; ++i) all[sizeof...(Params) + static_cast<std::size_t>(i)] = &none;
    launch_ptx(kernel, size, all);
}

}  // namespace steady::cuda
