// Which experts a block of threads takes, and with which weights. For .cu files alone.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

#include "kernels/moe_decode/op.h"

namespace steady::cuda::experts {

struct ExpertChoice {
    const float* logits;
    const float* bias;
    int n_experts, n_used;
    bool sigmoid, normalise;
    float scale, smallest_sum;
};

// Where a block chooses. Loops over scores load several at once, and the next ones before they know
// that there are none: these lie in a gap that nobody writes.
inline constexpr int kScoresGap = 8;
struct Chosen {
    float* score;        // [n_experts], and the gap
    float* probability;  // [n_experts]
    int* ids;            // [n_used]
    float* weights;      // [n_used]
};

__device__ inline Chosen chosen_at(unsigned char* memory, const ExpertChoice& c) {
    auto* score = reinterpret_cast<float*>(memory);
    float* probability = score + c.n_experts + kScoresGap;
    float* rest = probability + c.n_experts;
    return {score, probability, reinterpret_cast<int*>(rest), rest + c.n_used};
}
inline std::size_t chosen_bytes(const MoeDecodeShape& s) {
    return static_cast<std::size_t>(8 * (s.n_experts + s.n_used) + 4 * kScoresGap);
}

__device__ inline float probability_of(const ExpertChoice& c, const float* logits, int e) {
    if (c.sigmoid) return 1.0F / (1.0F + expf(-logits[e]));
    float largest = logits[0], total = 0;
    for (int o = 1; o < c.n_experts; ++o) largest = fmaxf(largest, logits[o]);
    for (int o = 0; o < c.n_experts; ++o) total += expf(logits[o] - largest);
    return expf(logits[e] - largest) / total;
}

// How a weight comes from probability, sum and scale: by a factor of scale and sum; divided by the
// sum, then times scale; or by a factor whose reciprocal is the GPU's estimate.
enum class Weigh : int { factor, divided, estimated };

// The chosen experts' weights. All threads of the block.
template <Weigh kWeigh>
__device__ inline void weigh(const ExpertChoice& c, const Chosen& out) {
    const int t = static_cast<int>(threadIdx.x);
    if (t < c.n_used) {
        float sum = 0;
        for (int k = 0; k < c.n_used; ++k) sum += out.probability[out.ids[k]];
        const float divisor = c.normalise ? fmaxf(sum, c.smallest_sum) : 1.0F;
        const float own = out.probability[out.ids[t]];
        if constexpr (kWeigh == Weigh::divided) {
            out.weights[t] = own / divisor * c.scale;
        } else if constexpr (kWeigh == Weigh::estimated) {
            out.weights[t] = own * (c.scale * __fdividef(1.0F, divisor));
        } else {
            out.weights[t] = own * (c.scale / divisor);
        }
    }
    __syncthreads();
}

// Of every expert the probability and what it is chosen by. All threads of the block.
__device__ inline void score(const ExpertChoice& c, const Chosen& out) {
    const int threads = static_cast<int>(blockDim.x), t = static_cast<int>(threadIdx.x);
    for (int e = t; e < c.n_experts; e += threads) out.score[e] = __ldcg(c.logits + e);
    if (t < c.n_used) out.ids[t] = t;  // whatever the logits are, ids are experts
    __syncthreads();
    for (int e = t; e < c.n_experts; e += threads) {
        out.probability[e] = probability_of(c, out.score, e);
    }
    __syncthreads();
    for (int e = t; e < c.n_experts; e += threads) {
        out.score[e] = out.probability[e] + (c.bias != nullptr ? __ldg(c.bias + e) : 0.0F);
    }
    __syncthreads();
}

// As op moe_router: an expert's place is the number of those before it. All threads of the block.
template <Weigh kWeigh = Weigh::factor>
__device__ inline void choose(const ExpertChoice& c, const Chosen& out) {
    const int threads = static_cast<int>(blockDim.x), t = static_cast<int>(threadIdx.x);
    score(c, out);
    for (int e = t; e < c.n_experts; e += threads) {
        const float own = out.score[e];
        int place = 0;
        for (int o = 0; o < c.n_experts; ++o) {
            const float other = out.score[o];
            place += other > own || (other == own && o < e) ? 1 : 0;
        }
        if (place < c.n_used) out.ids[place] = e;
    }
    __syncthreads();
    weigh<kWeigh>(c, out);
}

// The same, but one expert after the other: each time the best of those that are left, which one
// thread looks for, or the lanes of a warp together. Of equals the first.
template <bool kWarp>
__device__ inline void choose_in_turn(const ExpertChoice& c, const Chosen& out) {
    constexpr int kLanes = kWarp ? 32 : 1;
    const int t = static_cast<int>(threadIdx.x);
    score(c, out);
    for (int k = 0; k < c.n_used && t < kLanes; ++k) {
        int best = -1;
        float most = 0;
        for (int e = t; e < c.n_experts; e += kLanes) {
            bool left = true;
            for (int o = 0; o < k; ++o) left = left && out.ids[o] != e;
            if (left && (best < 0 || out.score[e] > most)) {
                best = e;
                most = out.score[e];
            }
        }
        if constexpr (kWarp) {
#pragma unroll
            for (int step = 16; step > 0; step /= 2) {
                const int other = __shfl_xor_sync(0xFFFFFFFFU, best, step);
                const float its = __shfl_xor_sync(0xFFFFFFFFU, most, step);
                const bool better =
                    other >= 0 && (best < 0 || its > most || (its == most && other < best));
                if (better) {
                    best = other;
                    most = its;
                }
            }
            __syncwarp();
        }
        // Scores that are no numbers compare as no better: ids are experts whatever they are.
        if (t == 0) out.ids[k] = best < 0 ? k : best;
        if constexpr (kWarp) __syncwarp();
    }
    __syncthreads();
    weigh<Weigh::factor>(c, out);
}

}  // namespace steady::cuda::experts
