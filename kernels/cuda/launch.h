// What CUDA variants share with the runtime: where they enqueue, and how. For .cu files alone.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

namespace steady::cuda {

// Where the variants of this thread enqueue.
cudaStream_t stream();
// Whether a kernel may start while the one before it runs; it then waits by wait_for_producers().
bool may_overlap();
// Counts a launch, and keeps the first failure until gpu::finish() throws it.
void note_launch(cudaError_t result, const void* kernel) noexcept;
void note_failure(cudaError_t result) noexcept;
int multiprocessors();

struct Size {
    int blocks = 1, threads = 1;
    std::size_t shared_bytes = 0;
    int cluster = 1;  // blocks that share their shared memory; more than one needs capability 9.0
};

template <class... Params>
void launch(void (*kernel)(Params...), const Size& size, Params... params) noexcept {
    // What a kernel declares itself comes to that, up to the 48 KB that need no leave.
    if (size.shared_bytes > 32 * 1024) {
        note_failure(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                          static_cast<int>(size.shared_bytes)));
    }
    cudaLaunchAttribute attributes[2] = {};
    unsigned n = 0;
    if (may_overlap()) {
        attributes[n].id = cudaLaunchAttributeProgrammaticStreamSerialization;
        attributes[n++].val.programmaticStreamSerializationAllowed = 1;
    }
    if (size.cluster > 1) {
        attributes[n].id = cudaLaunchAttributeClusterDimension;
        attributes[n++].val.clusterDim = {static_cast<unsigned>(size.cluster), 1, 1};
    }
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(static_cast<unsigned>(size.blocks));
    config.blockDim = dim3(static_cast<unsigned>(size.threads));
    config.dynamicSmemBytes = size.shared_bytes;
    config.stream = stream();
    config.attrs = attributes;
    config.numAttrs = n;
    note_launch(cudaLaunchKernelEx(&config, kernel, params...),
                reinterpret_cast<const void*>(kernel));
}

#ifdef __CUDACC__

// All that kernels before this one wrote is there from here on; what they read may be overwritten.
__device__ inline void wait_for_producers() {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

// The kernel after this one may start: it can ask for its weights and then waits itself.
__device__ inline void let_consumers_start() {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;");
#endif
}

__device__ inline float warp_sum(float v) {
#pragma unroll
    for (int step = 16; step > 0; step /= 2) v += __shfl_xor_sync(0xFFFFFFFFU, v, step);
    return v;
}

__device__ inline float warp_largest(float v) {
#pragma unroll
    for (int step = 16; step > 0; step /= 2) {
        v = fmaxf(v, __shfl_xor_sync(0xFFFFFFFFU, v, step));
    }
    return v;
}

// The same sum in every thread; `parts` has room for 32 floats that nobody uses meanwhile.
__device__ inline float block_sum(float v, float* parts) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int warp = static_cast<int>(threadIdx.x) / 32;
    v = warp_sum(v);
    if (lane == 0) parts[warp] = v;
    __syncthreads();
    return warp_sum(lane < static_cast<int>(blockDim.x) / 32 ? parts[lane] : 0.0F);
}

#endif

}  // namespace steady::cuda
