// The output product of a block, with the residual and the router. For .cu files alone.
#pragma once

#include "kernels/block_decode/cuda.h"
#include "kernels/block_decode/handed.h"
#include "kernels/cuda/cluster.h"

namespace steady::cuda {

constexpr int kOutputThreads = 256;

struct OutputCall {
    Matrix m;
    int n;
    const float* floats;          // the vector, or null
    const unsigned char* handed;  // else
    float* x;
    const float* norm;  // of the feed-forward
    unsigned char* ffn;
    float* squares;
    const float* router;
    int n_experts;
    float* logits;
};

constexpr int kMostRouterLoads = 4;  // of a thread: four columns of an expert each
[[maybe_unused]] constexpr int kMostExpertsHere = kMostRouterLoads * kOutputThreads / 4;

#ifdef __CUDACC__

template <int kOnly, int kSplit, int kTogether>
struct OutputBody {
    using Call = OutputCall;
    static constexpr int kThreads = kOutputThreads * kTogether, kBlocks = 2, kArrivals = 2;
    struct Kept {
        Arrival arrivals[2];
        float others[2 * kOutputThreads / 32];
        alignas(16) float values[kGroup];
        float logits[8][kMostExpertsHere];  // of the cluster's blocks, in each of them
    };

    template <class Place>
    __device__ __forceinline__ static void run(const Call& call, Kept& kept, uint4* memory,
                                               const Place& place) {
#if __CUDA_ARCH__ >= 900
        constexpr int kAll = kThreads, kLoads = kMostRouterLoads / kTogether;
        Arrival* arrivals = kept.arrivals;
        float* values = kept.values;
        auto& logits = kept.logits;
        place.let_consumers_start();
        const int t = static_cast<int>(threadIdx.x), warp = t / 32, lane = t % 32;
        const int pair = warp % (kOutputThreads / 32), part = warp / (kOutputThreads / 32);
        const int group = place.block();
        const Handed x = handed_at(memory, call.n);
        auto* rows = reinterpret_cast<unsigned char*>(memory) + handed_bytes(call.n);
        const int chunk = chunk_bytes(call.m.form, call.m.cols);
        const bool routes = call.n_experts != 0;
        if (routes) arrive_in_cluster();
        if (t == 0) {
            make_arrivals(arrivals, 2);
            for (int i = 0; i < 2; ++i) {
                expect(arrivals + i, chunk);
                ask_rows(rows + i * chunk, call.m, group * kGroup + 8 * i, 8, arrivals + i);
            }
        }
        // This group's columns of the router, and its norm's weights.
        float4 router[kLoads];
        const int column = group * kGroup + t % 4 * 4;
#pragma unroll
        for (int i = 0; i < kLoads; ++i) {
            const int e = t / 4 + i * kAll / 4;
            if (e < call.n_experts) {
                router[i] = __ldg(reinterpret_cast<const float4*>(
                    call.router + static_cast<long long>(e) * call.m.rows + column));
            }
        }
        const float4 norm = __ldg(reinterpret_cast<const float4*>(call.norm + column));
        const int size = Cluster::size();
        place.wait();
        float before = 0;
        if (part == 0 && lane < 2) before = __ldcg(call.x + group * kGroup + 2 * pair + lane);
        if (call.floats == nullptr) {
            take_handed(x, call.handed, call.n);
        } else {
            for (int base = 0; base < call.n / 4; base += kAll) {
                const bool valid = base + t < call.n / 4;
                float4 v = {0, 0, 0, 0};
                if (valid) v = __ldcg(reinterpret_cast<const float4*>(call.floats) + base + t);
                put_four(x, base + t, v, valid);
            }
        }
        __syncthreads();
        await(arrivals + pair / 4);
        float sums[2];
        sum_in_parts<kSplit, kTogether>(sums, kept.others, [&](float(&own)[2], int of_row) {
            with_planes_of<kOnly>(call.m.form, [&](auto unit) {
                dot_rows<decltype(unit)>(own, in_memory(rows, call.m), 2 * pair, x,
                                         lane + 32 * of_row, 32 * kSplit);
            });
        });
        if (part == 0 && lane < 2) {
            const float value = before + (lane == 0 ? sums[0] : sums[1]);
            values[2 * pair + lane] = value;
            call.x[group * kGroup + 2 * pair + lane] = value;
        }
        __syncthreads();
        if (warp == kAll / 32 - 1) {
            hand_over({call.ffn, call.squares, call.m.rows}, kFfnCopies, group, values, norm);
        }
        if (!routes) return;
        const float4 v = reinterpret_cast<const float4*>(values)[t % 4];
        const float4 normed = {v.x * norm.x, v.y * norm.y, v.z * norm.z, v.w * norm.w};
        wait_in_cluster();  // nobody writes into a block that has not begun
        float* own = &logits[Cluster::rank()][0];
#pragma unroll
        for (int i = 0; i < kLoads; ++i) {
            const int e = t / 4 + i * kAll / 4;
            if (i * kAll / 4 >= call.n_experts) break;
            float sum = 0;
            if (e < call.n_experts) {
                sum = router[i].x * normed.x + router[i].y * normed.y + router[i].z * normed.z +
                      router[i].w * normed.w;
            }
            sum += __shfl_xor_sync(0xFFFFFFFFU, sum, 1);
            sum += __shfl_xor_sync(0xFFFFFFFFU, sum, 2);
            for (int b = t % 4; b < size && e < call.n_experts; b += 4) {
                Cluster::of(own, b)[e] = sum;
            }
        }
        Cluster::meet();
        // Each block sums all, and makes its share of the copies.
        const int parts = place.blocks() / size;
        const int own_part = place.block() / size;
        for (int e = t; e < call.n_experts; e += kAll) {
            float sum = 0;
            for (int b = 0; b < size; ++b) sum += logits[b][e];
            for (int copy = Cluster::rank(); copy < kFfnCopies; copy += size) {
                call.logits[(copy * parts + own_part) * call.n_experts + e] = sum;
            }
        }
#endif
    }
};

#endif

}  // namespace steady::cuda
