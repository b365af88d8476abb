// Which experts a token goes to: the choice, by all threads of a block, and the guess before it.
// For .cu files alone.
#pragma once

#include "kernels/cuda/launch.h"

namespace steady::cuda {

constexpr int kExpertThreads = 256;
constexpr int kMostExperts = 256;
constexpr int kMostUsed = 16;

struct Router {
    const float* parts;  // [copies][n_parts][n_experts]
    const float* bias;
    int n_parts, n_experts, n_used;
    bool sigmoid, normalise;
    float scale, smallest_sum;
};

#ifdef __CUDACC__

// Where a block chooses.
struct Choice {
    float logit[kMostExperts], score[kMostExperts], probability[kMostUsed], factor;
    int ids[kMostUsed];
};
constexpr int kAtOnce = kExpertThreads / 4;  // experts, by four threads each

// Of expert `base` + t / 4: the sum over a fourth of the parts, asked for all together.
__device__ inline float part_of_logit(const Router& r, int base, int copy) {
    const int t = static_cast<int>(threadIdx.x), e = base + t / 4;
    float sum = 0;
    if (e >= r.n_experts) return sum;
    for (int first = t % 4; first < r.n_parts; first += 16) {
        float part[4];
#pragma unroll
        for (int p = 0; p < 4; ++p) {
            const bool there = first + 4 * p < r.n_parts;
            part[p] = there ? __ldcg(r.parts + (copy * r.n_parts + first + 4 * p) * r.n_experts + e)
                            : 0.0F;
        }
        sum += part[0] + part[1] + part[2] + part[3];
    }
    return sum;
}

// The sum over four neighbouring lanes.
__device__ inline float sum_of_four(float v) {
    v += __shfl_xor_sync(0xFFFFFFFFU, v, 1);
    return v + __shfl_xor_sync(0xFFFFFFFFU, v, 2);
}

// As op moe_router, from choice.logit and choice.factor; an expert's place is the number of those
// before it. All threads of the block; `bias` is expert t's.
__device__ inline void choose(const Router& r, Choice& choice, float bias) {
    const int t = static_cast<int>(threadIdx.x), lane = t % 32;
    float largest = 0, total = 0;
    if (!r.sigmoid) {
        largest = -INFINITY;
        for (int e = lane; e < r.n_experts; e += 32) {
            largest = fmaxf(largest, choice.factor * choice.logit[e]);
        }
        largest = warp_largest(largest);
        for (int e = lane; e < r.n_experts; e += 32) {
            total += expf(choice.factor * choice.logit[e] - largest);
        }
        total = warp_sum(total);
    }
    const auto probability = [&](int e) {
        return r.sigmoid ? 1.0F / (1.0F + expf(-choice.factor * choice.logit[e]))
                         : expf(choice.factor * choice.logit[e] - largest) / total;
    };
    static_assert(kMostExperts <= kExpertThreads);
    if (t < r.n_experts) choice.score[t] = probability(t) + bias;
    if (t < r.n_used) choice.ids[t] = t;  // whatever the logits are, ids are experts
    __syncthreads();
    for (int base = 0; base < r.n_experts; base += kAtOnce) {
        const int e = base + t / 4;
        const float own = e < r.n_experts ? choice.score[e] : 0.0F;
        float before = 0;
        for (int o = t % 4; o < r.n_experts; o += 4) {
            const float other = choice.score[o];
            before += other > own || (other == own && o < e) ? 1.0F : 0.0F;
        }
        const int place = static_cast<int>(sum_of_four(before));
        if (t % 4 == 0 && e < r.n_experts && place < r.n_used) {
            choice.ids[place] = e;
            choice.probability[place] = probability(e);
        }
    }
    __syncthreads();
}

#endif

}  // namespace steady::cuda
