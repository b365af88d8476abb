// The feed-forward's outputs, of a block whose kernels look for their vectors (polled.h). For .cu
// files alone.
#pragma once

#include "kernels/block_decode/body_outputs.h"
#include "kernels/block_decode/polled.h"

namespace steady::cuda {

struct PolledOutputsCall {
    OutputsCall of;  // `handed` in copies, looked for; x once more for a block of another kind
    const unsigned* ids;
    const float* weights;
    unsigned char* x;
    float* x_squares;
};

#ifdef __CUDACC__

template <int kRouted, int kShared, int kN>
struct PolledOutputsBody {
    using Call = PolledOutputsCall;
    static constexpr int kThreads = 32 * kN, kBlocks = 2, kArrivals = 2;
    struct Kept {
        Arrival arrivals[2];  // of the shared rows, of the experts'
        float rows[kN][kGroup];
        alignas(16) float values[kGroup];
        float weights[kMostUsed];
    };

    template <class Place>
    __device__ __forceinline__ static void run(const Call& polled, Kept& kept, uint4* memory,
                                               const Place& place) {
#if __CUDA_ARCH__ >= 900
        const OutputsCall& call = polled.of;
        Arrival* arrivals = kept.arrivals;
        place.let_consumers_start();
        const int t = static_cast<int>(threadIdx.x), warp = t / 32, lane = t % 32;
        const int group = place.block(), n_routed = call.n_used * call.hidden;
        const int n = n_routed + call.shared;
        const Handed x = handed_at(memory, n);
        auto* shared_rows = reinterpret_cast<unsigned char*>(memory) + handed_bytes(n);
        const int shared_size =
            call.shared > 0 ? 2 * chunk_bytes(call.shared_down.form, call.shared) : 0;
        auto* routed_rows = shared_rows + shared_size;
        const int routed_size = call.n_used > 0 ? 2 * chunk_bytes(call.down.form, call.hidden) : 0;
        if (t == 0) {
            make_arrivals(arrivals, 2);
            if (shared_size > 0) {
                expect(arrivals, shared_size);
                ask_rows(shared_rows, call.shared_down, group * kGroup, kGroup, arrivals);
            }
        }
        const int rows = place.blocks() * kGroup, of_expert = call.hidden / 32;
        const float4 norm = weights_to_hand(call.norm, group);
        __syncthreads();
        if (warp == 0 && call.n_used > 0) {
            unsigned id = 0, weight = 0;
            if (lane < call.n_used) {
                const Patience patience;
                do {
                    id = look(polled.ids + lane);
                    weight = look(reinterpret_cast<const unsigned*>(polled.weights) + lane);
                    patience.check();
                } while (id == kAbsent || weight == kAbsent);
                kept.weights[lane] = __uint_as_float(weight);
            }
            __syncwarp();
            if (lane == 0) expect(arrivals + 1, call.n_used * routed_size);
            __syncwarp();
            if (lane < call.n_used) {
                ask_rows(routed_rows + lane * routed_size, call.down,
                         static_cast<long long>(id) * rows + group * kGroup, kGroup, arrivals + 1);
            }
        }
        // A warp has a share of the experts' units and one of the shared expert's.
        const int of_routed = n_routed / 32, of_shared = call.shared / 32;
        const int first = of_routed * warp / kN, n_first = of_routed * (warp + 1) / kN - first;
        const int other = of_shared * warp / kN, n_other = of_shared * (warp + 1) / kN - other;
        take_share<3>(x, call.handed + group % kHiddenCopies * handed_bytes(n), n / 32, first,
                      n_first, of_routed + other, n_other);
        // Who handed hidden values over knew that the output product's kernel had ended.
        const float before = __ldcg(call.x + group * kGroup + lane % kGroup);
        float sum = 0;
        if (call.shared > 0) {
            await(arrivals);
            with_planes_of<kShared>(call.shared_down.form, [&](auto unit) {
                sum = dot_share<decltype(unit)>(in_memory(shared_rows, call.shared_down), x,
                                                of_routed + other, other, n_other);
            });
        }
        if (call.n_used > 0) {
            await(arrivals + 1);
            with_planes_of<kRouted>(call.down.form, [&](auto unit) {
#pragma unroll 1
                for (int g = first; g < first + n_first;) {
                    const int e = g / of_expert, u = g - e * of_expert;
                    const int n_of_expert = min(of_expert - u, first + n_first - g);
                    sum += kept.weights[e] *
                           dot_share<decltype(unit)>(
                               in_memory(routed_rows + e * routed_size, call.down), x, g, u,
                               n_of_expert);
                    g += n_of_expert;
                }
            });
        }
        sum += __shfl_xor_sync(0xFFFFFFFFU, sum, kGroup);
        if (lane < kGroup) kept.rows[warp][lane] = sum;
        __syncthreads();
        if (warp == 0) {
            const float value = before + sum_of_warps(kept.rows);
            if (lane < kGroup) {
                kept.values[lane] = value;
                call.x[group * kGroup + lane] = value;
            }
            __syncwarp();
            if (call.norm != nullptr) {
                hand_polled({polled.x, polled.x_squares, rows}, kFewCopies, group, kept.values,
                            norm);
                hand_over({call.out, call.squares, rows}, 1, group, kept.values, norm);
            }
        }
        // This kernel's end says that the one before has ended.
        place.wait();
#endif
    }
};

#endif

}  // namespace steady::cuda
