// Hidden values of the chosen experts and the shared one, behind the output product. The router's
// sums lie there in parts, so that each block chooses for itself and asks for its rows at once. For
// .cu files alone.
#pragma once

#include "kernels/block_decode/choice.h"
#include "kernels/block_decode/cuda.h"
#include "kernels/block_decode/handed.h"

namespace steady::cuda {

constexpr int kMostGroups = 6;  // of rows, of a block of a task

struct HiddenCall {
    Router router;
    Matrix gate, up, shared_gate, shared_up;
    int n, hidden, shared;
    float eps;
    const unsigned char* handed;
    const float* squares;
    int expert_groups;  // of one expert
    int groups;         // of all, the shared one's behind the others
    int group_bytes;    // of shared memory, for a group's rows
    int* ids;           // for the next kernel
    float* weights;
    unsigned* chosen;  // or null
    unsigned char* out;
};

#ifdef __CUDACC__
#if __CUDA_ARCH__ >= 900

// The choice for the next kernel, by the first block.
template <class Place>
__device__ void keep(const HiddenCall& call, const Choice& choice, const Place& place) {
    const Router& r = call.router;
    const int k = static_cast<int>(threadIdx.x);
    if (k >= 32) return;
    static_assert(kMostUsed <= 32);
    float sum = 0;
    for (int i = 0; i < r.n_used; ++i) sum += choice.probability[i];
    const float factor = r.normalise ? r.scale / fmaxf(sum, r.smallest_sum) : r.scale;
    if (k < r.n_used) {
        call.ids[k] = choice.ids[k];
        call.weights[k] = choice.probability[k] * factor;
    }
    __syncwarp();
    if (k == 0 && call.chosen != nullptr) place.tell(call.chosen);
}

// The warp's two rows of gate and of up.
template <int kOnly>
__device__ void dot_gate_and_up(float (&sums)[4], const Matrix& gate, const Matrix& up,
                                int first_row, const Handed& x, int lane) {
    if constexpr (kOnly >= 0) {
        using U = Unit<static_cast<Form>(kOnly)>;
        const RowParts at[4] = {U::row(gate, first_row), U::row(gate, first_row + 1),
                                U::row(up, first_row), U::row(up, first_row + 1)};
        dot_parts<U>(sums, at, gate.cols / 32, x, lane, 32);
    } else {
        float of_gate[2] = {}, of_up[2] = {};
        with_planes(gate.form, [&](auto unit) {
            dot_rows<decltype(unit)>(of_gate, gate, first_row, x, lane, 32);
        });
        with_planes(up.form, [&](auto unit) {
            dot_rows<decltype(unit)>(of_up, up, first_row, x, lane, 32);
        });
        sums[0] = of_gate[0];
        sums[1] = of_gate[1];
        sums[2] = of_up[0];
        sums[3] = of_up[1];
    }
}

#endif

// kMost: groups of rows that a block takes, at most.
template <int kRouted, int kShared, int kMost>
struct HiddenBody {
    using Call = HiddenCall;
    static constexpr int kThreads = kExpertThreads, kBlocks = 4, kArrivals = 2 * kMost;
    struct Kept {
        Arrival arrivals[2 * kMost];
        Choice choice;
        alignas(16) float values[kMost][kGroup];
    };

    template <class Place>
    __device__ __forceinline__ static void run(const Call& call, Kept& kept, uint4* memory,
                                               const Place& place) {
#if __CUDA_ARCH__ >= 900
        Choice& choice = kept.choice;
        place.let_consumers_start();
        const int t = static_cast<int>(threadIdx.x), warp = t / 32, lane = t % 32;
        const int block = place.block(), blocks = place.blocks();
        const int routed_groups = call.router.n_used * call.expert_groups;
        const Handed x = handed_at(memory, call.n);
        auto* rows = reinterpret_cast<unsigned char*>(memory) + handed_bytes(call.n);
        // Where a block has several groups, the shared expert's come first, whose rows nobody
        // chooses. Rows of as many as find room are on their way, the others' when a place is free.
        const int room = place.groups_at_once();
        const auto group_of = [&](int i) {
            return kMost == 1 ? block : call.groups - 1 - block - i * blocks;
        };
        const auto is_routed = [&](int i) { return group_of(i) < routed_groups; };
        const auto gate_of = [&](int i) -> const Matrix& {
            return is_routed(i) ? call.gate : call.shared_gate;
        };
        const auto up_of = [&](int i) -> const Matrix& {
            return is_routed(i) ? call.up : call.shared_up;
        };
        const auto gates_of = [&](int i) { return rows + i % room * call.group_bytes; };
        const auto ask_for = [&](int i) {
            const Matrix &gate = gate_of(i), &up = up_of(i);
            const int group = group_of(i);
            long long first_row = static_cast<long long>(group - routed_groups) * kGroup;
            if (is_routed(i)) {
                first_row =
                    static_cast<long long>(choice.ids[group / call.expert_groups]) * call.hidden +
                    group % call.expert_groups * kGroup;
            }
            const int gate_chunk = chunk_bytes(gate.form, call.n);
            const int up_chunk = chunk_bytes(up.form, call.n);
            auto* gates = gates_of(i);
            auto* ups = gates + 2 * gate_chunk;
            for (int half = 0; half < 2; ++half) {
                Arrival* arrival = kept.arrivals + 2 * i + half;
                expect(arrival, gate_chunk + up_chunk);
                ask_rows(gates + half * gate_chunk, gate, first_row + 8 * half, 8, arrival);
                ask_rows(ups + half * up_chunk, up, first_row + 8 * half, 8, arrival);
            }
        };
        const int n_own = kMost == 1 ? 1 : (call.groups - 1 - block) / blocks + 1;
        const bool chooses = is_routed(n_own - 1);
        if (t == 0) {
            make_arrivals(kept.arrivals, 2 * kMost);
#pragma unroll 1
            for (int i = 0; i < min(room, n_own); ++i) {
                if (!is_routed(i)) ask_for(i);
            }
        }
        const int n_hidden = call.router.n_used * call.hidden + call.shared;
        const int copy = block % kFfnCopies;
        float bias = 0;
        if (call.router.bias != nullptr && t < call.router.n_experts) {
            bias = __ldg(call.router.bias + t);
        }
        place.wait();
        if (chooses) {
            const Router& r = call.router;
            for (int base = 0; base < r.n_experts; base += kAtOnce) {
                const float sum = sum_of_four(part_of_logit(r, base, copy));
                if (t % 4 == 0 && base + t / 4 < r.n_experts) choice.logit[base + t / 4] = sum;
            }
        }
        if (warp == 0) {
            const int groups = call.n / kGroup;
            const float own =
                norm_factor_of(call.squares + copy * groups, groups, call.n, call.eps);
            if (lane == 0) choice.factor = own;
        } else {
            take_handed(x, call.handed + copy * handed_bytes(call.n), call.n, 32);
        }
        __syncthreads();
        if (chooses) {
            choose(call.router, choice, bias);
            if (t == 0) {
#pragma unroll 1
                for (int i = 0; i < min(room, n_own); ++i) {
                    if (is_routed(i)) ask_for(i);
                }
            }
            if (group_of(n_own - 1) == 0) keep(call, choice, place);
        }
        __syncthreads();
        const float factor = choice.factor;
#pragma unroll 1
        for (int i = 0; i < n_own; ++i) {
            const Matrix &gate = gate_of(i), &up = up_of(i);
            auto* gates = gates_of(i);
            auto* ups = gates + 2 * chunk_bytes(gate.form, call.n);
            float* values = kept.values[i];
            await(kept.arrivals + 2 * i + warp / 4);
            float sums[4] = {};
            if (is_routed(i)) {
                dot_gate_and_up<kRouted>(sums, in_memory(gates, gate), in_memory(ups, up), 2 * warp,
                                         x, lane);
            } else {
                dot_gate_and_up<kShared>(sums, in_memory(gates, gate), in_memory(ups, up), 2 * warp,
                                         x, lane);
            }
#pragma unroll
            for (float& sum : sums) sum = warp_sum(sum) * factor;
            if (lane < 2) {
                values[2 * warp + lane] =
                    lane == 0 ? gated(sums[0], sums[2]) : gated(sums[1], sums[3]);
            }
            __syncthreads();
            if (t == 0 && i + room < n_own) ask_for(i + room);
            if (warp == 0) {
                hand_over({call.out, nullptr, n_hidden}, kHiddenCopies, group_of(i), values,
                          {1, 1, 1, 1});
            }
        }
#endif
    }
};

#endif

}  // namespace steady::cuda
