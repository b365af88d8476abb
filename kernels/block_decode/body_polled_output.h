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
    bool deep;     // the values come with the end of the kernel before, in one copy
    uint4* clear;  // then: the other set
    int n_clear;
};

#ifdef __CUDACC__

struct PolledOutputBody {
    using Call = PolledOutputCall;
    static constexpr int kThreads = 2 * kOutputThreads, kBlocks = 2, kArrivals = 3;
    struct Kept {
        Arrival arrivals[3];    // of the rows' halves; of sums from the cluster's blocks
        float rows[2][kGroup];  // of either half of the warps
        alignas(16) float values[kGroup];
        float sums[8][kMostOfBlock];
    };

    template <class Place>
    __device__ __forceinline__ static void run(const Call& polled, Kept& kept, uint4* memory,
                                               const Place& place) {
#if __CUDA_ARCH__ >= 900
        const OutputCall& call = polled.of;
        Arrival* arrivals = kept.arrivals;
        float* values = kept.values;
        place.let_consumers_start();
        const int t = static_cast<int>(threadIdx.x), warp = t / 32, lane = t % 32;
        const int pair = warp % 8, part = warp / 8;
        const int group = place.block();
        const int size = Cluster::size(), rank = Cluster::rank();
        const Handed x = handed_at(memory, call.n);
        auto* rows = reinterpret_cast<unsigned char*>(memory) + handed_bytes(call.n);
        const int chunk = chunk_bytes(call.m.form, call.m.cols);
        const bool routes = call.n_experts != 0;
        const int of_block = (call.n_experts + size - 1) / size;
        const int n_own = max(0, min(of_block, call.n_experts - rank * of_block));
        if (t == 0) {
            make_arrivals(arrivals, 3);
            for (int i = 0; i < 2; ++i) {
                expect(arrivals + i, chunk);
                ask_rows(rows + i * chunk, call.m, group * kGroup + 8 * i, 8, arrivals + i);
            }
            if (routes) expect(arrivals + 2, n_own * size * 4);
        }
        __syncwarp();
        if (routes) arrive_in_cluster();
        // This group's columns of the router, and its norm's weights.
        float4 router = {0, 0, 0, 0};
        const int column = group * kGroup + t % 4 * 4, e = t / 4;
        if (e < call.n_experts) {
            router = __ldg(reinterpret_cast<const float4*>(
                call.router + static_cast<long long>(e) * call.m.rows + column));
        }
        const float4 norm = __ldg(reinterpret_cast<const float4*>(call.norm + column));
        // Memory rests meanwhile.
        if (t == kThreads - 1 && polled.shared_down.rows != 0) {
            prefetch_part(polled.shared_down, 0, polled.shared_down.rows, group, place.blocks());
        }
        __syncwarp();
        if (polled.deep) {
            place.wait();
            take_handed(x, call.handed, call.n);
        } else {
            take_polled(x, call.handed + group % kFewCopies * handed_bytes(call.n), call.n, 0);
        }
        __syncthreads();
        const float before = __ldcg(call.x + group * kGroup + lane % kGroup);
        await(arrivals + pair / 4);
        float sums[2] = {};
        dot_rows<Unit<Form::q4_0>>(sums, in_memory(rows, call.m), 2 * pair, x, lane + 32 * part,
                                   64);
        sums[0] = warp_sum(sums[0]);
        sums[1] = warp_sum(sums[1]);
        if (lane < 2) kept.rows[part][2 * pair + lane] = lane == 0 ? sums[0] : sums[1];
        __syncthreads();
        // In every warp, of row lane % kGroup.
        const float value = before + (kept.rows[0][lane % kGroup] + kept.rows[1][lane % kGroup]);
        if (warp == kThreads / 32 - 1) {
            if (lane < kGroup) {
                values[lane] = value;
                call.x[group * kGroup + lane] = value;
            }
            __syncwarp();
            hand_polled({call.ffn, call.squares, call.m.rows}, kFfnCopies, group, values, norm);
        }
        if (routes) {
            float v[4];
#pragma unroll
            for (int i = 0; i < 4; ++i) v[i] = __shfl_sync(0xFFFFFFFFU, value, lane % 4 * 4 + i);
            float sum = router.x * (v[0] * norm.x) + router.y * (v[1] * norm.y) +
                        router.z * (v[2] * norm.z) + router.w * (v[3] * norm.w);
            sum += __shfl_xor_sync(0xFFFFFFFFU, sum, 1);
            sum += __shfl_xor_sync(0xFFFFFFFFU, sum, 2);
            wait_in_cluster();  // nobody writes into a block that has not begun
            if (t % 4 == 0 && e < call.n_experts) {
                send(&kept.sums[rank][e % of_block], arrivals + 2, e / of_block, sum);
            }
            __syncwarp();
            await_sent(arrivals + 2);
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
        if (polled.deep) clear(polled.clear, polled.n_clear, place);
        // This kernel's end says that attention has ended.
        if (group == 0) place.wait();
#endif
    }
};

#endif

}  // namespace steady::cuda
