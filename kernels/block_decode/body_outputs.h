// The outputs of the chosen experts and the shared one, with the weighted sum and the residual. For
// .cu files alone.
#pragma once

#include "kernels/block_decode/choice.h"
#include "kernels/block_decode/cuda.h"
#include "kernels/block_decode/handed.h"

namespace steady::cuda {

struct OutputsCall {
    Matrix down, shared_down;
    int n_used, hidden, shared;
    const unsigned char* handed;
    const int* ids;
    const float* weights;
    const unsigned* chosen;  // null: the choice is there with the vector
    float* x;
    const float* norm;  // of the block behind, or null
    unsigned char* out;
    float* squares;
};

#ifdef __CUDACC__

template <int kRouted, int kShared, int kSplit, int kTogether>
struct OutputsBody {
    using Call = OutputsCall;
    static constexpr int kThreads = kExpertThreads * kTogether, kBlocks = 2, kArrivals = 2;
    struct Kept {
        Arrival arrivals[2];  // of the shared rows, of the experts'
        alignas(16) float values[kGroup];
        float weights[kMostUsed], others[2 * kExpertThreads / 32];
    };

    template <class Place>
    __device__ __forceinline__ static void run(const Call& call, Kept& kept, uint4* memory,
                                               const Place& place) {
#if __CUDA_ARCH__ >= 900
        Arrival* arrivals = kept.arrivals;
        float *values = kept.values, *weights = kept.weights;
        place.let_consumers_start();
        const int t = static_cast<int>(threadIdx.x), warp = t / 32, lane = t % 32;
        const int pair = warp % (kExpertThreads / 32), part = warp / (kExpertThreads / 32);
        const int group = place.block(), n_routed = call.n_used * call.hidden;
        const Handed x = handed_at(memory, n_routed + call.shared);
        auto* shared_rows =
            reinterpret_cast<unsigned char*>(memory) + handed_bytes(n_routed + call.shared);
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
        const Handed of_shared = {x.low + n_routed / 32, x.high + n_routed / 32,
                                  x.s + n_routed / 32};
        const float4 norm = weights_to_hand(call.norm, group);
        const auto ask_for_chosen = [&] {
            if (lane == 0) expect(arrivals + 1, call.n_used * routed_size);
            __syncwarp();
            if (lane < call.n_used) {
                const long long id = __ldcg(call.ids + lane);
                const float weight = __ldcg(call.weights + lane);
                ask_rows(routed_rows + lane * routed_size, call.down, id * rows + group * kGroup,
                         kGroup, arrivals + 1);
                weights[lane] = weight;
            }
        };
        const bool early = call.chosen != nullptr && call.n_used > 0;
        if (early && warp == 0) {
            place.await_told(call.chosen);
            ask_for_chosen();
        }
        place.wait();
        float before = 0;
        if (part == 0 && lane < 2) before = __ldcg(call.x + group * kGroup + 2 * pair + lane);
        if (warp == 0) {
            if (call.n_used > 0 && !early) ask_for_chosen();
        } else {
            const int n = n_routed + call.shared;
            take_handed(x, call.handed + group % kHiddenCopies * handed_bytes(n), n, 32);
        }
        __syncthreads();
        float sums[2];
        sum_in_parts<kSplit, kTogether>(sums, kept.others, [&](float(&own)[2], int of_row) {
            if (call.shared > 0) {
                await(arrivals);
                with_planes_of<kShared>(call.shared_down.form, [&](auto unit) {
                    dot_rows<decltype(unit)>(own, in_memory(shared_rows, call.shared_down),
                                             2 * pair, of_shared, lane + 32 * of_row, 32 * kSplit);
                });
            }
            if (call.n_used > 0) {
                await(arrivals + 1);
                with_planes_of<kRouted>(call.down.form, [&](auto unit) {
                    using U = decltype(unit);
                    const Matrix own_rows = in_memory(routed_rows, call.down);
                    const RowParts at[2] = {U::row(own_rows, 2 * pair),
                                            U::row(own_rows, 2 * pair + 1)};
#pragma unroll 1
                    for (int g = lane + 32 * of_row; g < call.n_used * of_expert;
                         g += 32 * kSplit) {
                        const int e = g / of_expert, u = g - e * of_expert;
                        const HandedUnit unit_of_x = HandedUnit::at(x, g);
                        const float weight = weights[e];
#pragma unroll
                        for (int r = 0; r < 2; ++r) {
                            RowParts of = at[r];
                            of.quants += e * routed_size;
                            of.upper += e * routed_size;
                            of.scales += e * routed_size;
                            of.of_eight += e * routed_size;
                            own[r] += weight * dot(taken<U>(of, u), unit_of_x);
                        }
                    }
                });
            }
        });
        if (part == 0 && lane < 2) {
            const float value = before + (lane == 0 ? sums[0] : sums[1]);
            values[2 * pair + lane] = value;
            call.x[group * kGroup + 2 * pair + lane] = value;
        }
        __syncthreads();
        if (warp == 0 && call.norm != nullptr) {
            hand_over({call.out, call.squares, rows}, 1, group, values, norm);
        }
#endif
    }
};

#endif

}  // namespace steady::cuda
