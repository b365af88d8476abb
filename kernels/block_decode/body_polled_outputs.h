// The feed-forward's outputs, of a block whose kernels look for their vectors (polled.h). For .cu
// files alone.
#pragma once

#include "kernels/block_decode/body_outputs.h"
#include "kernels/block_decode/polled.h"

namespace steady::cuda {

struct PolledOutputsCall {
    OutputsCall of;  // `handed`, `out` and `squares` in copies, looked for
    const unsigned* ids;
    const unsigned* weights;
};

#ifdef __CUDACC__

template <int kRouted, int kShared, int kTogether>
struct PolledOutputsBody {
    using Call = PolledOutputsCall;
    static constexpr int kThreads = kExpertThreads * kTogether, kBlocks = 2, kArrivals = 2;
    struct Kept {
        Arrival arrivals[2];  // of the shared rows, of the experts'
        alignas(16) float values[kGroup];
        float weights[kMostUsed], rows[kTogether][kGroup];
    };

    template <class Place>
    __device__ __forceinline__ static void run(const Call& polled, Kept& kept, uint4* memory,
                                               const Place& place) {
#if __CUDA_ARCH__ >= 900
        const OutputsCall& call = polled.of;
        Arrival* arrivals = kept.arrivals;
        float *values = kept.values, *weights = kept.weights;
        place.let_consumers_start();
        const int t = static_cast<int>(threadIdx.x), warp = t / 32, lane = t % 32;
        const int pair = warp % (kExpertThreads / 32), part = warp / (kExpertThreads / 32);
        const int group = place.block(), n_routed = call.n_used * call.hidden;
        const int n = n_routed + call.shared;
        const Handed x = handed_at(memory, n);
        auto* shared_rows = reinterpret_cast<unsigned char*>(memory) + handed_bytes(n);
        const int shared_size =
            call.shared > 0 ? 2 * chunk_bytes(call.shared_down.form, call.shared) : 0;
        auto* routed_rows = shared_rows + shared_size;
        const int routed_size = call.n_used > 0 ? 2 * chunk_bytes(call.down.form, call.hidden) : 0;
        // Which experts, if it is known already; the rest is made ready meanwhile.
        const bool asks = t < call.n_used;
        unsigned id = 0, weight = 0;
        if (asks) {
            id = look(polled.ids + t);
            weight = look(polled.weights + t);
        }
        if (t == 0) {
            make_arrivals(arrivals, 2);
            if (shared_size > 0) {
                expect(arrivals, shared_size);
                ask_rows(shared_rows, call.shared_down, group * kGroup, kGroup, arrivals);
            }
            if (call.n_used > 0) expect(arrivals + 1, call.n_used * routed_size);
        }
        const int rows = place.blocks() * kGroup, of_expert = call.hidden / 32;
        const Handed of_shared = {x.low + n_routed / 32, x.high + n_routed / 32,
                                  x.s + n_routed / 32};
        const float4 norm = weights_to_hand(call.norm, group);
        const auto* handed = call.handed + group % kHiddenCopies * handed_bytes(n);
        if (warp == 0) {
            __syncwarp();
            if (asks) {
                const Patience patience;
                while (id == kAbsent || weight == kAbsent) {
                    id = look(polled.ids + t);
                    weight = look(polled.weights + t);
                    patience.check();
                }
                ask_rows(routed_rows + t * routed_size, call.down,
                         static_cast<long long>(id) * rows + group * kGroup, kGroup, arrivals + 1);
                weights[t] = __uint_as_float(weight);
            }
            __syncwarp();
        } else if (call.shared > 0) {
            take_units<3>(x, handed, n / 32, n_routed / 32, call.shared / 32, 32);
        }
        __syncthreads();
        float sums[2] = {};
        // The shared expert's hidden values are there before the others.
        if (call.shared > 0) {
            await(arrivals);
            with_planes_of<kShared>(call.shared_down.form, [&](auto unit) {
                dot_rows<decltype(unit)>(sums, in_memory(shared_rows, call.shared_down), 2 * pair,
                                         of_shared, lane + 32 * part, 32 * kTogether);
            });
        }
        if (call.n_used > 0) {
            take_units<2>(x, handed, n / 32, 0, n_routed / 32, 0);
            __syncthreads();
        }
        // The block that told the choice handed its values over when the output product's kernel
        // had ended.
        float before = 0;
        if (warp == 0) before = __ldcg(call.x + group * kGroup + lane % kGroup);
        if (call.n_used > 0) {
            await(arrivals + 1);
            with_planes_of<kRouted>(call.down.form, [&](auto unit) {
                using U = decltype(unit);
                const Matrix own_rows = in_memory(routed_rows, call.down);
                const RowParts at[2] = {U::row(own_rows, 2 * pair), U::row(own_rows, 2 * pair + 1)};
                int e = 0, u = lane + 32 * part;
#pragma unroll 1
                for (int g = u; g < n_routed / 32; g += 32 * kTogether, u += 32 * kTogether) {
                    while (u >= of_expert) {
                        u -= of_expert;
                        ++e;
                    }
                    const HandedUnit unit_of_x = HandedUnit::at(x, g);
                    const float weight = weights[e];
#pragma unroll
                    for (int r = 0; r < 2; ++r) {
                        RowParts of = at[r];
                        of.quants += e * routed_size;
                        of.upper += e * routed_size;
                        of.scales += e * routed_size;
                        of.of_eight += e * routed_size;
                        sums[r] += weight * dot(taken<U>(of, u), unit_of_x);
                    }
                }
            });
        }
        sums[0] = warp_sum(sums[0]);
        sums[1] = warp_sum(sums[1]);
        if (lane < 2) kept.rows[part][2 * pair + lane] = lane == 0 ? sums[0] : sums[1];
        __syncthreads();
        if (warp == 0) {
            float value = before;
#pragma unroll
            for (int i = 0; i < kTogether; ++i) value += kept.rows[i][lane % kGroup];
            if (lane < kGroup) {
                values[lane] = value;
                call.x[group * kGroup + lane] = value;
            }
            __syncwarp();
            if (call.norm != nullptr) {
                hand_polled({call.out, call.squares, rows}, kFewCopies, group, values, norm);
            }
        }
        // This kernel's end says that the one before has ended.
        if (group == 0) place.wait();
#endif
    }
};

#endif

}  // namespace steady::cuda
