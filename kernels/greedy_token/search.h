// The search for the largest logit by a block of threads. For .cu files alone.
#pragma once

#include "kernels/cuda/launch.h"
#include "kernels/greedy_token/op.h"

namespace steady::cuda {

struct GreedyCall {
    const float* logits;
    int n;
    int* now;
    int* told;
};

constexpr int kGreedyThreads = 1024;

inline GreedyCall greedy_call(const GreedyToken::Args& args) {
    return {args.logits, static_cast<int>(args.shape.n), args.now, args.told};
}

#ifdef __CUDACC__

// A candidate as one number: the larger, the better. The logit's bits are turned so that they are
// ordered as integers; below them the token, lower first. 0: none.
using Candidate = unsigned long long;

__device__ inline Candidate candidate(float logit, int token) {
    if (isnan(logit)) return 0;
    const unsigned bits = __float_as_uint(logit + 0.0F);  // -0 equals 0
    const unsigned ordered = bits >> 31 ? ~bits : bits | 0x80000000U;
    return Candidate{ordered} << 32 | ~static_cast<unsigned>(token);
}

// The best of tokens first, first + step, …; in the block's first thread.
__device__ inline Candidate best_of_block(const GreedyCall& call, int first, int step) {
    __shared__ Candidate parts[kGreedyThreads / 32];
    Candidate best = 0;
#pragma unroll 8
    for (int i = first; i < call.n; i += step) best = max(best, candidate(call.logits[i], i));
    const auto join = [&] {
#pragma unroll
        for (int lanes = 16; lanes > 0; lanes /= 2) {
            best = max(best, __shfl_xor_sync(0xFFFFFFFFU, best, lanes));
        }
    };
    join();
    if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = best;
    __syncthreads();
    if (threadIdx.x < 32) {
        best = parts[threadIdx.x];
        join();
    }
    return best;
}

// By one thread.
__device__ inline void tell(const GreedyCall& call, Candidate best) {
    const int token =
        best == 0 ? GreedyToken::kNone : static_cast<int>(~static_cast<unsigned>(best));
    call.now[0] = token;
    ++call.now[1];
    *static_cast<volatile int*>(call.told) = token;
    __threadfence_system();
}

#endif

}  // namespace steady::cuda
