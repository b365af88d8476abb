// The cluster of a block of threads, by CUDA's own functions. <cooperative_groups.h> says the same,
// and nvcc reads it for six seconds in each file. For .cu files alone.
#pragma once

#include <cuda_runtime.h>

namespace steady::cuda {

#if defined(__CUDACC__) && __CUDA_ARCH__ >= 900

struct Cluster {
    __device__ static int rank() { return static_cast<int>(__clusterRelativeBlockRank()); }
    __device__ static int size() { return static_cast<int>(__clusterSizeInBlocks()); }
    // All threads of all blocks; what they wrote before is seen behind it.
    __device__ static void meet() {
        __cluster_barrier_arrive();
        __cluster_barrier_wait();
    }
    // The same place in another block's shared memory.
    template <class T>
    __device__ static T* of(T* mine, int other) {
        return static_cast<T*>(__cluster_map_shared_rank(mine, static_cast<unsigned>(other)));
    }
};

#endif

}  // namespace steady::cuda
