// What CUDA variants share with the runtime: where they enqueue, and how. For .cu files alone.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <type_traits>
#include <typeinfo>

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
    // Of bodies whose blocks can take several groups of rows: how many at most, and the shared
    // memory of each that is there at the same time. A launch of its own takes one.
    int most_groups = 1;
    std::size_t group_bytes = 0;
};

// Whether bodies are recorded as tasks of one launch (kernels/cuda/tasks.h), not enqueued; then how
// many blocks that has, as far as is known before its end.
bool recording_tasks();
int task_blocks();
void record_task(const std::type_info& body, const Size& size, const void* call,
                 std::size_t call_bytes) noexcept;

template <class... Params>
void launch(void (*kernel)(Params...), const Size& size, Params... params) noexcept {
    if (recording_tasks()) {
        return note_launch(cudaErrorNotSupported, reinterpret_cast<const void*>(kernel));
    }
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

// Where a block of threads stands, and how it meets what runs before and behind it: as a block of a
// kernel's own launch. Tasked (kernels/cuda/tasks.h) says the same of a task of a longer launch.
struct Launched {
    __device__ static int block() { return static_cast<int>(blockIdx.x); }
    __device__ static int blocks() { return static_cast<int>(gridDim.x); }
    // Of rows, of bodies whose blocks can take several.
    __device__ static int groups_at_once() { return 1; }
    __device__ static void let_consumers_start() { cuda::let_consumers_start(); }
    __device__ static void wait() { wait_for_producers(); }
    // By one thread, to blocks of the next kernel that already run: what this thread wrote is
    // there. `word` was 0.
    __device__ static void tell(unsigned* word) {
        asm volatile("st.release.gpu.global.u32 [%0], 1;" ::"l"(word) : "memory");
    }
    // What never comes would hang the GPU.
    __device__ static void await_told(const unsigned* word) {
        const long long begin = clock64();
        unsigned seen = 0;
        while (seen != 1) {
            asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(word) : "memory");
            if (clock64() - begin > (1LL << 35)) __trap();
        }
    }
};

// A kernel of a body: Body::run(call, kept, memory, place) with Kept and memory in shared memory.
// A task of a longer launch runs the same body.
template <class Body>
__global__ void __launch_bounds__(Body::kThreads, Body::kBlocks)
    body_kernel(const __grid_constant__ typename Body::Call call) {
    extern __shared__ uint4 memory[];
    __shared__ typename Body::Kept kept;
    Body::run(call, kept, memory, Launched{});
}

template <class Body>
void launch_body(const Size& size, const typename Body::Call& call) noexcept {
    static_assert(std::is_trivially_copyable_v<typename Body::Call>);
    if (recording_tasks()) return record_task(typeid(Body), size, &call, sizeof call);
    launch(body_kernel<Body>, size, call);
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
