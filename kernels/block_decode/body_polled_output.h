// The output product of a block whose kernels look for their vectors (polled.h), with the residual
// and the router. Of a cluster's blocks each adds up a share of the experts. For .cu files alone.
#pragma once

#include "kernels/block_decode/body_output.h"
#include "kernels/block_decode/polled.h"

namespace steady::cuda {

constexpr int kMostOfBlock = 64;  // experts that a block adds up: all of them without a cluster

struct PolledOutputCall {
    OutputCall of;  // `handed`, `ffn`, `squares` and `logits` in copies, looked for
    Matrix shared_down;
};

#ifdef __CUDACC__

template <int kN>
struct PolledOutputBody {
    using Call = PolledOutputCall;
    static constexpr int kThreads = 32 * kN, kBlocks = 2, kArrivals = 2;
    struct Kept {
        Arrival arrivals[2];  // of the rows; of sums from the cluster's blocks
        float rows[kN][kGroup];
        alignas(16) float values[kGroup];
        float sums[8][kMostOfBlock];
    };

    template <class Place>
    __device__ __forceinline__ static void run(const Call& polled, Kept& kept, uint4* memory,
                                               const Place& place) {
#if __CUDA_ARCH__ >= 900
        const OutputCall& call = polled.of;
        Arrival* arrivals = kept.arrivals;
        place.let_consumers_start();
        const int t = static_cast<int>(threadIdx.x), warp = t / 32, lane = t % 32;
        const int group = place.block();
        const auto cluster = cg::this_cluster();
        const int size = static_cast<int>(cluster.num_blocks());
        const int rank = static_cast<int>(cluster.block_rank());
        const Handed x = handed_at(memory, call.n);
        auto* rows = reinterpret_cast<unsigned char*>(memory) + handed_bytes(call.n);
        const bool routes = call.n_experts != 0;
        const int of_block = (call.n_experts + size - 1) / size;
        const int n_own = max(0, min(of_block, call.n_experts - rank * of_block));
        if (t == 0) {
            make_arrivals(arrivals, 2);
            expect(arrivals, 2 * chunk_bytes(call.m.form, call.m.cols));
            ask_rows(rows, call.m, group * kGroup, kGroup, arrivals);
            if (routes) expect(arrivals + 1, n_own * size * 4);
            // Memory rests meanwhile.
            if (polled.shared_down.rows != 0) {
                prefetch_part(polled.shared_down, 0, polled.shared_down.rows, group,
                              place.blocks());
            }
        }
        __syncthreads();
        if (routes) arrive_in_cluster();
        // This group's columns of the router, and its norm's weights.
        float4 router = {0, 0, 0, 0};
        const int column = group * kGroup + t % 4 * 4, e = t / 4;
        if (e < call.n_experts) {
            router = __ldg(reinterpret_cast<const float4*>(
                call.router + static_cast<long long>(e) * call.m.rows + column));
        }
        const float4 norm = __ldg(reinterpret_cast<const float4*>(call.norm + column));
        const int units = call.n / 32, first = units * warp / kN;
        const int n = units * (warp + 1) / kN - first;
        take_share<2>(x, call.handed + group % kFewCopies * handed_bytes(call.n), units, first, n,
                      0, 0);
        const float before = __ldcg(call.x + group * kGroup + lane % kGroup);
        await(arrivals);
        float sum = dot_share<Unit<Form::q4_0>>(in_memory(rows, call.m), x, first, first, n);
        sum += __shfl_xor_sync(0xFFFFFFFFU, sum, kGroup);
        if (lane < kGroup) kept.rows[warp][lane] = sum;
        __syncthreads();
        const float value = before + sum_of_warps(kept.rows);
        if (warp == 0) {
            if (lane < kGroup) {
                kept.values[lane] = value;
                call.x[group * kGroup + lane] = value;
            }
            __syncwarp();
            hand_polled({call.ffn, call.squares, call.m.rows}, kFfnCopies, group, kept.values,
                        norm);
        }
        if (routes) {
            float v[4];
#pragma unroll
            for (int i = 0; i < 4; ++i) v[i] = __shfl_sync(0xFFFFFFFFU, value, lane % 4 * 4 + i);
            float logit = router.x * (v[0] * norm.x) + router.y * (v[1] * norm.y) +
                          router.z * (v[2] * norm.z) + router.w * (v[3] * norm.w);
            logit += __shfl_xor_sync(0xFFFFFFFFU, logit, 1);
            logit += __shfl_xor_sync(0xFFFFFFFFU, logit, 2);
            wait_in_cluster();  // nobody writes into a block that has not begun
            if (t % 4 == 0 && e < call.n_experts) {
                send(&kept.sums[rank][e % of_block], arrivals + 1, e / of_block, logit);
            }
            __syncwarp();
            await_sent(arrivals + 1);
            const int parts = place.blocks() / size, own_part = place.block() / size;
            for (int i = t; i < n_own * kFfnCopies; i += kThreads) {
                const int own = i / kFfnCopies, copy = i % kFfnCopies;
                float all = 0;
                for (int b = 0; b < size; ++b) all += kept.sums[b][own];
                tell_float(call.logits + (copy * parts + own_part) * call.n_experts +
                               rank * of_block + own,
                           all);
            }
        }
        // This kernel's end says that attention has ended.
        place.wait();
#endif
    }
};

#endif

}  // namespace steady::cuda
