// The feed-forward's hidden values, of a block whose kernels look for their vectors (polled.h). One
// warp of a block chooses, for itself: only as many experts as it takes to know the block's own,
// whose rows it asks for. The shared expert's blocks come first: they wait for no choice, end early
// and make room for blocks that find none at first. Those belong to the experts chosen first, which
// take the fewest instructions; by then the telling block may have told which they are. For .cu
// files alone.
#pragma once

#include "kernels/block_decode/body_hidden.h"
#include "kernels/block_decode/polled.h"

namespace steady::cuda {

constexpr int kMostPolledExperts = 64;  // four to a lane of half a warp
constexpr int kPartsOfLane = 8;         // of the router's sums, at once

struct PolledHiddenCall {
    HiddenCall of;  // `handed`, `squares`, the router's parts and `out` in copies, looked for
    unsigned* ids;
    float* weights;
    unsigned* go;
};

#ifdef __CUDACC__
#if __CUDA_ARCH__ >= 900

// A warp's choice: lane q of either half of it has experts 4q … 4q + 3.
struct WarpChoice {
    unsigned key[4];  // of score and bias; 0: not there, or chosen already
    float probability[4];

    // Of this copy of the router's sums, `factor` still apart.
    __device__ static float4 logits(const Router& r, int copy) {
        const int lane = static_cast<int>(threadIdx.x) % 32, q = lane % 16, half = lane / 16;
        const int fours = r.n_experts / 4;
        const auto* from = reinterpret_cast<const uint4*>(r.parts) + copy * r.n_parts * fours + q;
        float4 sum = {0, 0, 0, 0};
        if (q < fours) {
#pragma unroll 1
            for (int first = half; first < r.n_parts; first += 2 * kPartsOfLane) {
                uint4 v[kPartsOfLane];
                poll(v, from, first * fours, 2 * fours, r.n_parts * fours);
#pragma unroll
                for (int i = 0; i < kPartsOfLane; ++i) {
                    if (first + 2 * i >= r.n_parts) continue;
                    sum.x += __uint_as_float(v[i].x);
                    sum.y += __uint_as_float(v[i].y);
                    sum.z += __uint_as_float(v[i].z);
                    sum.w += __uint_as_float(v[i].w);
                }
            }
        }
        __syncwarp();
        const auto both = [](float v) { return v + __shfl_xor_sync(0xFFFFFFFFU, v, 16); };
        return {both(sum.x), both(sum.y), both(sum.z), both(sum.w)};
    }

    __device__ void begin(const Router& r, float4 logits, float factor, float4 bias) {
        const int lane = static_cast<int>(threadIdx.x) % 32;
        const bool there = lane < r.n_experts / 4;
        const float of[4] = {logits.x * factor, logits.y * factor, logits.z * factor,
                             logits.w * factor};
        const float more[4] = {bias.x, bias.y, bias.z, bias.w};
        float largest = 0, part = 1;
        if (!r.sigmoid) {
            largest = there ? fmaxf(fmaxf(of[0], of[1]), fmaxf(of[2], of[3])) : -INFINITY;
            largest = warp_largest(largest);
            float total = 0;
#pragma unroll
            for (int i = 0; i < 4; ++i) total += there ? __expf(of[i] - largest) : 0.0F;
            total = warp_sum(lane < 16 ? total : 0.0F);
            part = __fdividef(1, total);
        }
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            probability[i] =
                r.sigmoid ? __fdividef(1, 1 + __expf(-of[i])) : __expf(of[i] - largest) * part;
            key[i] = there ? max(1U, in_order(probability[i] + more[i])) : 0U;
        }
    }

    // The next best, and its probability; of equals the first.
    __device__ int next(float& chosen) {
        const int lane = static_cast<int>(threadIdx.x) % 32;
        unsigned own = key[0];
        int at = 0;
        float of = probability[0];
#pragma unroll
        for (int i = 1; i < 4; ++i) {
            if (key[i] > own) {
                own = key[i];
                at = i;
                of = probability[i];
            }
        }
        const unsigned most = __reduce_max_sync(0xFFFFFFFFU, own);
        const int winner = __ffs(static_cast<int>(__ballot_sync(0xFFFFFFFFU, own == most))) - 1;
        at = __shfl_sync(0xFFFFFFFFU, at, winner);
        chosen = __shfl_sync(0xFFFFFFFFU, of, winner);
        if (lane == winner) {
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                if (i == at) key[i] = 0;
            }
        }
        return 4 * winner + at;
    }
};

#endif

template <int kRouted, int kShared>
struct PolledHiddenBody {
    using Call = PolledHiddenCall;
    static constexpr int kThreads = kExpertThreads, kBlocks = 4, kArrivals = 3;
    struct Kept {
        Arrival arrivals[3];  // of the rows' halves, of the factor
        float factor;
        alignas(16) float values[kGroup];
    };

    template <class Place>
    __device__ __forceinline__ static void run(const Call& polled, Kept& kept, uint4* memory,
                                               const Place& place) {
#if __CUDA_ARCH__ >= 900
        const HiddenCall& call = polled.of;
        const Router& r = call.router;
        place.let_consumers_start();
        const int t = static_cast<int>(threadIdx.x), warp = t / 32, lane = t % 32;
        const int block = place.block(), routed_groups = r.n_used * call.expert_groups;
        const int shared_groups = call.shared / kGroup, own_block = block - shared_groups;
        const bool routed = own_block >= 0;
        const int slot = routed ? r.n_used - 1 - own_block / call.expert_groups : 0;
        const int group = routed ? slot * call.expert_groups + own_block % call.expert_groups
                                 : routed_groups + block;
        // It tells the choice and `go`: a block of the expert chosen last, which chooses all; or,
        // of a dense block, the first.
        const bool tells = r.n_used > 0 ? own_block == 0 : block == 0;
        const Handed x = handed_at(memory, call.n);
        const Matrix& gate = routed ? call.gate : call.shared_gate;
        const Matrix& up = routed ? call.up : call.shared_up;
        const int gate_chunk = chunk_bytes(gate.form, call.n);
        const int up_chunk = chunk_bytes(up.form, call.n);
        auto* gates = reinterpret_cast<unsigned char*>(memory) + handed_bytes(call.n);
        auto* ups = gates + 2 * gate_chunk;
        // By one warp, four lanes of which ask for a matrix's half each.
        const auto ask_for = [&](long long first_row) {
            const int half = lane / 2;
            const bool of_up = lane % 2 != 0;
            if (lane < 4) {
                ask_rows((of_up ? ups : gates) + half * (of_up ? up_chunk : gate_chunk),
                         of_up ? up : gate, first_row + 8 * half, 8, kept.arrivals + half);
            }
        };
        if (t == 0) {
            make_arrivals(kept.arrivals, 3);
            for (int i = 0; i < 2; ++i) expect(kept.arrivals + i, gate_chunk + up_chunk);
        }
        __syncthreads();
        const int copy = group % kFfnCopies, groups = call.n / kGroup;
        if (warp == 0) {
            if (!routed) {
                ask_for(static_cast<long long>(group - routed_groups) * kGroup);
            } else {
                float4 bias = {0, 0, 0, 0};
                if (r.bias != nullptr && lane < r.n_experts / 4) {
                    bias = __ldg(reinterpret_cast<const float4*>(r.bias) + lane);
                }
                // A block that began late may find its expert told; then it does not choose.
                const auto ask_for_expert = [&](unsigned id) {
                    ask_for(static_cast<long long>(id) * call.hidden +
                            group % call.expert_groups * kGroup);
                };
                unsigned told = tells ? kAbsent : look(polled.ids + slot);
                told = __shfl_sync(0xFFFFFFFFU, told, 0);
                float probability = 0, total = 0, own_probability = 0;
                int own_id = 0;
                if (told == kAbsent) {
                    const float4 logits = WarpChoice::logits(r, copy);
                    if (!tells) told = look(polled.ids + slot);
                    await(kept.arrivals + 2);
                    const float factor = kept.factor;
                    WarpChoice choice;
                    choice.begin(r, logits, factor, bias);
                    told = __shfl_sync(0xFFFFFFFFU, told, 0);
#pragma unroll 1
                    for (int i = 0; i <= slot && told == kAbsent; ++i) {
                        const int id = choice.next(probability);
                        total += probability;
                        if (i == lane) {
                            own_id = id;
                            own_probability = probability;
                        }
                        if (i == slot) ask_for_expert(static_cast<unsigned>(id));
                    }
                }
                if (told != kAbsent) ask_for_expert(told);
                if (tells && lane < r.n_used) {
                    const float share =
                        r.normalise ? r.scale / fmaxf(total, r.smallest_sum) : r.scale;
                    tell_word(polled.ids + lane, static_cast<unsigned>(own_id));
                    tell_float(polled.weights + lane, own_probability * share);
                }
            }
        } else if (warp == kThreads / 32 - 1) {
            const float own = polled_factor(call.squares + copy * groups, groups, call.n, call.eps);
            if (lane == 0) {
                kept.factor = own;
                expect(kept.arrivals + 2, 0);  // it is there, for the warp that chooses
            }
        } else {
            take_polled(x, call.handed + copy * handed_bytes(call.n), call.n, 32, 32);
        }
        // The output product's kernel has ended long since, and so has attention: who sees this
        // block's values, or `go`, may rely on that.
        if (tells) place.wait();
        __syncthreads();
        const float factor = kept.factor;
        await(kept.arrivals + warp / 4);
        float sums[4] = {};
        if (routed) {
            dot_gate_and_up<kRouted>(sums, in_memory(gates, gate), in_memory(ups, up), 2 * warp, x,
                                     lane);
        } else {
            dot_gate_and_up<kShared>(sums, in_memory(gates, gate), in_memory(ups, up), 2 * warp, x,
                                     lane);
        }
#pragma unroll
        for (float& sum : sums) sum = warp_sum(sum) * factor;
        if (lane < 2) {
            kept.values[2 * warp + lane] =
                lane == 0 ? gated(sums[0], sums[2]) : gated(sums[1], sums[3]);
        }
        __syncthreads();
        if (warp == 0) {
            const int n_hidden = r.n_used * call.hidden + call.shared;
            hand_polled({call.out, nullptr, n_hidden}, kHiddenCopies, group, kept.values,
                        {1, 1, 1, 1});
            if (tells && lane == 0) tell_word(polled.go, 1);
        }
#endif
    }
};

#endif

}  // namespace steady::cuda
