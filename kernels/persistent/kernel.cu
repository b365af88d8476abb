// The launch that runs a token's tasks: which bodies it has, and how its blocks walk through them.
#include <algorithm>
#include <array>

#include "kernels/block_decode/body_attention.h"
#include "kernels/block_decode/body_first.h"
#include "kernels/block_decode/body_hidden.h"
#include "kernels/block_decode/body_output.h"
#include "kernels/block_decode/body_outputs.h"
#include "kernels/block_decode/body_query.h"
#include "kernels/block_decode/body_tiles.h"
#include "kernels/cuda/tasks.h"
#include "kernels/products/body.h"
#include "kernels/token_row/body.h"

namespace steady::cuda {
namespace {

constexpr int kQ4 = only(Form::q4_0), kQ5K = only(Form::q5_k), kQ6K = only(Form::q6_k);
constexpr int kRing = kTasksAhead + 1;  // descriptions of tasks in shared memory

// What a block keeps besides a task's own.
struct Walk {
    Task ring[kRing];
    Seat seat;
};

template <class Body>
constexpr std::size_t kKeptBytes = (sizeof(typename Body::Kept) + 15) / 16 * 16;
constexpr std::size_t kWalkBytes = (sizeof(Walk) + 127) / 128 * 128;

// By all threads of a block, task `k`. Not inlined: what a body computes of its thread's number
// would be moved in front of the loop over tasks, for all bodies at once, and fill the registers.
template <class Body>
__device__ __noinline__ void run_body(int k) {
    static_assert(Body::kThreads == kTaskThreads);
    static_assert(sizeof(typename Body::Call) <= kMostCallBytes);
    extern __shared__ uint4 memory[];
    auto& walk = *reinterpret_cast<Walk*>(memory);
    auto* own = reinterpret_cast<unsigned char*>(memory) + kWalkBytes;
    auto& kept = *reinterpret_cast<typename Body::Kept*>(own);
    const auto& call = *reinterpret_cast<const typename Body::Call*>(walk.ring[k % kRing].call);
    Body::run(call, kept, reinterpret_cast<uint4*>(own + kKeptBytes<Body>), Tasked{walk.seat});
#if __CUDA_ARCH__ >= 900
    // The next task's copies may overwrite what this one's threads wrote, and its arrivals lie
    // elsewhere.
    __syncwarp();
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if constexpr (Body::kArrivals > 0) {
        if (static_cast<int>(threadIdx.x) < Body::kArrivals) {
            asm volatile(
                "mbarrier.inval.shared::cta.b64 [%0];" ::"r"(in_shared(kept.arrivals + threadIdx.x))
                : "memory");
        }
    }
#endif
}

template <class... Each>
struct BodyList {
    static int find(const std::type_info& body) {
        int i = 0, found = -1;
        ((typeid(Each) == body ? found = i++ : i++), ...);
        return found;
    }
    static std::size_t kept_bytes(int body) {
        constexpr std::array<std::size_t, sizeof...(Each)> all = {kKeptBytes<Each>...};
        return all[static_cast<std::size_t>(body)];
    }
    __device__ static void run(int body, int k) {
        int i = 0;
        ((body == i++ ? run_body<Each>(k) : void()), ...);
    }
};

// Those whose results were compared with the kernels' bit by bit, on models of the three families
// with a cache of two bytes a value. Another one is an error when a token is recorded:
// AttentionBody<true, Lane, 2> gave NaN as a task where the query comes whole, and why is not
// known.
using Bodies = BodyList<FirstBody<kQ4>, AttentionBody<true, PackedLane, 3>, OutputBody<kQ4, 2, 1>,
                        HiddenBody<kQ4, kQ5K, kMostGroups>, OutputsBody<kQ4, kQ6K, 2, 1>,
                        HiddenBody<kQ4, kQ4, kMostGroups>, OutputsBody<kQ4, kQ4, 2, 1>,
                        QueryBody<__half, true>, TilesBody<__half>, JoinBody<__half, true>,
                        QueryBody<__nv_bfloat16, true>, TilesBody<__nv_bfloat16>,
                        JoinBody<__nv_bfloat16, true>, ProductsBody<2, kQ6K, 4>, TokenRowBody>;

#if __CUDA_ARCH__ >= 900

// Task `k` of n, if there is one, on its way into the ring.
__device__ void ask_for_task(Walk& walk, const Task* tasks, int k, int n) {
    constexpr int kPieces = static_cast<int>(sizeof(Task) / 16);
    static_assert(kPieces <= kTaskThreads);
    const int t = static_cast<int>(threadIdx.x);
    if (k < n && t < kPieces) {
        copy_ahead(reinterpret_cast<uint4*>(&walk.ring[k % kRing]) + t,
                   reinterpret_cast<const uint4*>(tasks + k) + t);
    }
    asm volatile("cp.async.commit_group;" ::: "memory");
}

__device__ inline long long global_ns() {
    long long ns = 0;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
    return ns;
}

__device__ inline void add(unsigned long long* to, long long n) {
    atomicAdd(to, static_cast<unsigned long long>(n));
}

#endif

__global__ void __launch_bounds__(kTaskThreads, kTaskBlocks)
    persistent_kernel(const Task* tasks, int n, const TaskState state, unsigned launch) {
#if __CUDA_ARCH__ >= 900
    extern __shared__ uint4 memory[];
    auto& walk = *reinterpret_cast<Walk*>(memory);
    const bool leads = threadIdx.x == 0;
    const int cluster = static_cast<int>(blockIdx.x) / kTaskCluster;
    const int of_task = static_cast<int>(gridDim.x) / kTaskCluster * kTaskStride;  // words
    const long long begin = clock64(), begin_ns = global_ns();
    for (int k = 0; k < kTasksAhead; ++k) ask_for_task(walk, tasks, k, n);
    if (leads) {
        walk.seat.launch = launch;
        walk.seat.waited = 0;
        walk.seat.wanted = 0;
    }
#pragma unroll 1
    for (int k = 0; k < n; ++k) {
        ask_for_task(walk, tasks, k + kTasksAhead, n);
        asm volatile("cp.async.wait_group %0;" ::"n"(kTasksAhead) : "memory");
        __syncthreads();
        const Task& task = walk.ring[k % kRing];
        if (leads) {
            const int from_first = static_cast<int>(blockIdx.x) - task.first;
            walk.seat.block =
                from_first < 0 ? from_first + static_cast<int>(gridDim.x) : from_first;
            walk.seat.blocks = task.blocks;
            walk.seat.room = task.room;
            const unsigned* own = state.done + cluster * kTaskStride;
            walk.seat.done_before = k == 0 ? nullptr : own + (k - 1) * of_task;
            walk.seat.told = state.told + k * of_task;
            walk.seat.told_before = walk.seat.told - of_task + cluster * kTaskStride;
        }
        __syncthreads();
#pragma unroll 1
        while (walk.seat.block < task.blocks) {
            Bodies::run(task.body, k);
            if (threadIdx.x < 32) Tasked::count(state.done + k * of_task);
            if (leads) walk.seat.block += static_cast<int>(gridDim.x);
            __syncthreads();
        }
        if (leads) walk.seat.wanted = launch * static_cast<unsigned>(task.blocks);
        __syncthreads();  // the next round's description takes the place of this one's
    }
    if (!leads) return;
    add(state.times, walk.seat.waited);
    add(state.times + 1, clock64() - begin);
    add(state.times + 2, global_ns() - begin_ns);
#endif
}

cudaLaunchConfig_t config_of(int blocks, std::size_t shared_bytes,
                             cudaLaunchAttribute (&attributes)[2]) {
    attributes[0].id = cudaLaunchAttributeClusterDimension;
    attributes[0].val.clusterDim = {kTaskCluster, 1, 1};
    attributes[1].id = cudaLaunchAttributeCooperative;
    attributes[1].val.cooperative = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(static_cast<unsigned>(blocks));
    config.blockDim = dim3(kTaskThreads);
    config.dynamicSmemBytes = shared_bytes;
    config.attrs = attributes;
    config.numAttrs = 2;
    return config;
}

int blocks_with(std::size_t shared_bytes) {
    note_failure(cudaFuncSetAttribute(persistent_kernel,
                                      cudaFuncAttributeMaxDynamicSharedMemorySize,
                                      static_cast<int>(shared_bytes)));
    cudaLaunchAttribute attributes[2] = {};
    cudaLaunchConfig_t config = config_of(kTaskCluster, shared_bytes, attributes);
    config.numAttrs = 1;
    int clusters = 0;
    note_failure(cudaOccupancyMaxActiveClusters(&clusters, persistent_kernel, &config));
    return clusters * kTaskCluster;
}

void launch_tasks(const Task* tasks, int n, const TaskState& state, unsigned launch, int blocks,
                  std::size_t shared_bytes) {
    cudaLaunchAttribute attributes[2] = {};
    cudaLaunchConfig_t config = config_of(blocks, shared_bytes, attributes);
    config.stream = stream();
    note_launch(cudaLaunchKernelEx(&config, persistent_kernel, tasks, n, state, launch),
                reinterpret_cast<const void*>(persistent_kernel));
}

}  // namespace

const TaskRunner& task_runner() {
    static const TaskRunner runner = {&Bodies::find, &Bodies::kept_bytes, kWalkBytes, &blocks_with,
                                      &launch_tasks};
    return runner;
}

}  // namespace steady::cuda
