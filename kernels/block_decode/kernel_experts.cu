// The feed-forward behind the output product: hidden values of the chosen experts and the shared
// one, then their outputs with the weighted sum and the residual. The router's sums lie there in
// parts, so that each block chooses for itself and asks for its rows at once.
#include <algorithm>

#include "kernels/block_decode/cuda.h"
#include "kernels/block_decode/early.h"
#include "kernels/block_decode/handed.h"

namespace steady::cuda {
namespace {

constexpr int kExpertThreads = 256;
[[maybe_unused]] constexpr int kMostExperts = 256;
[[maybe_unused]] constexpr int kMostUsed = 16;

struct Router {
    const float* parts;  // [copies][n_parts][n_experts]
    const float* bias;
    int n_parts, n_experts, n_used;
    bool sigmoid, normalise;
    float scale, smallest_sum;
};

struct HiddenCall {
    Router router;
    Matrix gate, up, shared_gate, shared_up;
    int n, hidden, shared;
    float eps;
    const unsigned char* handed;
    const float* squares;
    int expert_groups;  // of one expert
    int* ids;           // for the next kernel
    float* weights;
    unsigned* chosen;  // or null
    unsigned char* out;
};

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

#if __CUDA_ARCH__ >= 900

// Where a block chooses.
struct Choice {
    float logit[kMostExperts], score[kMostExperts], probability[kMostUsed], factor;
    int ids[kMostUsed];
};
constexpr int kAtOnce = kExpertThreads / 4;  // experts, by four threads each

// Of expert `base` + t / 4: the sum over a fourth of the parts, asked for all together.
__device__ float part_of_logit(const Router& r, int base, int copy) {
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
__device__ void choose(const Router& r, Choice& choice, float bias) {
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

// The choice for the next kernel, by the first block.
__device__ void keep(const HiddenCall& call, const Choice& choice) {
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
    if (k != 0 || call.chosen == nullptr) return;
    asm volatile("st.release.gpu.global.u32 [%0], 1;" ::"l"(call.chosen) : "memory");
}
// A choice that did not come would hang the GPU.
__device__ inline void await_choice(const unsigned* chosen) {
    const long long begin = clock64();
    unsigned seen = 0;
    while (seen != 1) {
        asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(chosen) : "memory");
        if (clock64() - begin > (1LL << 35)) __trap();
    }
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

template <int kRouted, int kShared>
__global__ void __launch_bounds__(kExpertThreads, 4)
    hidden_kernel(const __grid_constant__ HiddenCall call) {
#if __CUDA_ARCH__ >= 900
    extern __shared__ uint4 memory[];
    __shared__ Arrival arrivals[2];
    __shared__ Choice choice;
    __shared__ __align__(16) float values[kGroup];
    let_consumers_start();
    const int t = static_cast<int>(threadIdx.x), warp = t / 32, lane = t % 32;
    const int block = static_cast<int>(blockIdx.x);
    const int routed_groups = call.router.n_used * call.expert_groups;
    const bool routed = block < routed_groups;
    const Matrix& gate = routed ? call.gate : call.shared_gate;
    const Matrix& up = routed ? call.up : call.shared_up;
    const Handed x = handed_at(memory, call.n);
    auto* gates = reinterpret_cast<unsigned char*>(memory) + handed_bytes(call.n);
    const int gate_chunk = chunk_bytes(gate.form, call.n), up_chunk = chunk_bytes(up.form, call.n);
    auto* ups = gates + 2 * gate_chunk;
    const auto ask_for = [&](long long first_row) {
        for (int i = 0; i < 2; ++i) {
            expect(arrivals + i, gate_chunk + up_chunk);
            ask_rows(gates + i * gate_chunk, gate, first_row + 8 * i, 8, arrivals + i);
            ask_rows(ups + i * up_chunk, up, first_row + 8 * i, 8, arrivals + i);
        }
    };
    if (t == 0) {
        make_arrivals(arrivals, 2);
        if (!routed) ask_for(static_cast<long long>(block - routed_groups) * kGroup);
    }
    const int n_hidden = call.router.n_used * call.hidden + call.shared;
    const int copy = block % kFfnCopies;
    float bias = 0;
    if (call.router.bias != nullptr && t < call.router.n_experts) {
        bias = __ldg(call.router.bias + t);
    }
    wait_for_producers();
    if (routed) {
        const Router& r = call.router;
        for (int base = 0; base < r.n_experts; base += kAtOnce) {
            const float sum = sum_of_four(part_of_logit(r, base, copy));
            if (t % 4 == 0 && base + t / 4 < r.n_experts) choice.logit[base + t / 4] = sum;
        }
    }
    if (warp == 0) {
        const int groups = call.n / kGroup;
        const float own = norm_factor_of(call.squares + copy * groups, groups, call.n, call.eps);
        if (lane == 0) choice.factor = own;
    } else {
        take_handed(x, call.handed + copy * handed_bytes(call.n), call.n, 32);
    }
    __syncthreads();
    if (routed) {
        choose(call.router, choice, bias);
        if (t == 0) {
            ask_for(static_cast<long long>(choice.ids[block / call.expert_groups]) * call.hidden +
                    block % call.expert_groups * kGroup);
        }
        if (block == 0) keep(call, choice);
    }
    __syncthreads();
    const float factor = choice.factor;
    await(arrivals + warp / 4);
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
        values[2 * warp + lane] = lane == 0 ? gated(sums[0], sums[2]) : gated(sums[1], sums[3]);
    }
    __syncthreads();
    if (warp == 0) {
        hand_over({call.out, nullptr, n_hidden}, kHiddenCopies, block, values, {1, 1, 1, 1});
    }
#endif
}

template <int kRouted, int kShared, int kSplit>
__global__ void __launch_bounds__(kExpertThreads* kSplit, 2)
    outputs_kernel(const __grid_constant__ OutputsCall call) {
#if __CUDA_ARCH__ >= 900
    extern __shared__ uint4 memory[];
    __shared__ Arrival arrivals[2];  // of the shared rows, of the experts'
    __shared__ __align__(16) float values[kGroup];
    __shared__ float weights[kMostUsed], others[2 * kExpertThreads / 32];
    let_consumers_start();
    const int t = static_cast<int>(threadIdx.x), warp = t / 32, lane = t % 32;
    const int pair = warp % (kExpertThreads / 32), part = warp / (kExpertThreads / 32);
    const int group = static_cast<int>(blockIdx.x), n_routed = call.n_used * call.hidden;
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
    const int rows = static_cast<int>(gridDim.x) * kGroup, of_expert = call.hidden / 32;
    const Handed of_shared = {x.low + n_routed / 32, x.high + n_routed / 32, x.s + n_routed / 32};
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
        await_choice(call.chosen);
        ask_for_chosen();
    }
    wait_for_producers();
    float before = 0;
    if (part == 0 && lane < 2) before = __ldcg(call.x + group * kGroup + 2 * pair + lane);
    if (warp == 0) {
        if (call.n_used > 0 && !early) ask_for_chosen();
    } else {
        const int n = n_routed + call.shared;
        take_handed(x, call.handed + group % kHiddenCopies * handed_bytes(n), n, 32);
    }
    __syncthreads();
    float sums[2] = {};
    if (call.shared > 0) {
        await(arrivals);
        with_planes_of<kShared>(call.shared_down.form, [&](auto unit) {
            dot_rows<decltype(unit)>(sums, in_memory(shared_rows, call.shared_down), 2 * pair,
                                     of_shared, lane + 32 * part, 32 * kSplit);
        });
    }
    if (call.n_used > 0) {
        await(arrivals + 1);
        with_planes_of<kRouted>(call.down.form, [&](auto unit) {
            using U = decltype(unit);
            const Matrix own_rows = in_memory(routed_rows, call.down);
            const RowParts at[2] = {U::row(own_rows, 2 * pair), U::row(own_rows, 2 * pair + 1)};
#pragma unroll 1
            for (int g = lane + 32 * part; g < call.n_used * of_expert; g += 32 * kSplit) {
                const int e = g / of_expert, u = g - e * of_expert;
                const HandedUnit own = HandedUnit::at(x, g);
                const float weight = weights[e];
#pragma unroll
                for (int r = 0; r < 2; ++r) {
                    RowParts of = at[r];
                    of.quants += e * routed_size;
                    of.upper += e * routed_size;
                    of.scales += e * routed_size;
                    of.of_eight += e * routed_size;
                    sums[r] += weight * dot(taken<U>(of, u), own);
                }
            }
        });
    }
    sums[0] = warp_sum(sums[0]);
    sums[1] = warp_sum(sums[1]);
    bring_halves<kSplit>(sums, others);
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

}  // namespace

namespace {

void run_hidden_by(const BlockDecode::Args& args, unsigned* chosen) {
    const BlockScratch scratch = scratch_of(args);
    const BlockDecodeShape& s = args.shape;
    const MoeDecode::Args& e = args.experts;
    HiddenCall call = {};
    call.router = {scratch.logits,
                   e.bias,
                   static_cast<int>(s.cols / kGroup) / output_cluster(s),
                   static_cast<int>(s.n_experts),
                   static_cast<int>(s.n_used),
                   e.gating == Gating::sigmoid,
                   e.normalise,
                   e.scale == 0 ? 1.0F : e.scale,
                   MoeRouter::kSmallestSum};
    call.gate = device_matrix(e.gate, false);
    call.up = device_matrix(e.up, false);
    call.shared_gate = device_matrix(e.shared_gate, false);
    call.shared_up = device_matrix(e.shared_up, false);
    call.n = static_cast<int>(s.cols);
    call.hidden = static_cast<int>(s.hidden);
    call.shared = static_cast<int>(s.shared);
    call.eps = e.eps;
    call.handed = scratch.ffn;
    call.squares = scratch.ffn_squares;
    call.expert_groups = call.hidden / kGroup;
    call.ids = e.ids;
    call.weights = e.weights;
    call.chosen = chosen;
    call.out = scratch.hidden;
    std::size_t rows = 0;
    const auto room_for = [&](const Matrix& gate, const Matrix& up) {
        rows = std::max(rows, 2 * static_cast<std::size_t>(chunk_bytes(gate.form, call.n) +
                                                           chunk_bytes(up.form, call.n)));
    };
    if (s.n_used > 0) room_for(call.gate, call.up);
    if (s.shared > 0) room_for(call.shared_gate, call.shared_up);
    Size size;
    size.threads = kExpertThreads;
    size.blocks = static_cast<int>(s.n_hidden()) / kGroup;
    size.shared_bytes = handed_bytes(s.cols) + rows;
    // The published mixture, and models of one type, have kernels of their own.
    const auto all = [](Form form, const Matrix& gate, const Matrix& up, bool used) {
        return !used || (gate.form == form && up.form == form);
    };
    const bool routed = all(Form::q4_0, call.gate, call.up, s.n_used > 0);
    if (routed && all(Form::q4_0, call.shared_gate, call.shared_up, s.shared > 0)) {
        launch(hidden_kernel<only(Form::q4_0), only(Form::q4_0)>, size, call);
    } else if (routed && all(Form::q5_k, call.shared_gate, call.shared_up, s.shared > 0)) {
        launch(hidden_kernel<only(Form::q4_0), only(Form::q5_k)>, size, call);
    } else {
        launch(hidden_kernel<kAnyForm, kAnyForm>, size, call);
    }
}

void run_outputs_by(const BlockDecode::Args& args, const Ways& ways, const unsigned* chosen) {
    const BlockScratch scratch = scratch_of(args);
    const BlockDecodeShape& s = args.shape;
    const MoeDecode::Args& e = args.experts;
    OutputsCall call = {};
    call.down = device_matrix(e.down, false);
    call.shared_down = device_matrix(e.shared_down, false);
    call.n_used = static_cast<int>(s.n_used);
    call.hidden = static_cast<int>(s.hidden);
    call.shared = static_cast<int>(s.shared);
    call.handed = scratch.hidden;
    call.ids = e.ids;
    call.weights = e.weights;
    call.chosen = chosen;
    call.x = e.x;
    call.norm = args.next_norm;
    call.out = scratch.x;
    call.squares = scratch.x_squares;
    Size size;
    size.threads = kExpertThreads;
    size.blocks = static_cast<int>(s.cols) / kGroup;
    size.shared_bytes = handed_bytes(s.n_hidden());
    if (s.n_used > 0) {
        size.shared_bytes +=
            static_cast<std::size_t>(2 * call.n_used * chunk_bytes(call.down.form, call.hidden));
    }
    if (s.shared > 0) {
        size.shared_bytes +=
            static_cast<std::size_t>(2 * chunk_bytes(call.shared_down.form, call.shared));
    }
    const bool routed = s.n_used == 0 || call.down.form == Form::q4_0;
    if (routed && (s.shared == 0 || call.shared_down.form == Form::q4_0)) {
        if (ways.split) {
            size.threads *= 2;
            launch(outputs_kernel<only(Form::q4_0), only(Form::q4_0), 2>, size, call);
        } else {
            launch(outputs_kernel<only(Form::q4_0), only(Form::q4_0), 1>, size, call);
        }
    } else if (routed && call.shared_down.form == Form::q6_k) {
        if (ways.split) {
            size.threads *= 2;
            launch(outputs_kernel<only(Form::q4_0), only(Form::q6_k), 2>, size, call);
        } else {
            launch(outputs_kernel<only(Form::q4_0), only(Form::q6_k), 1>, size, call);
        }
    } else {
        launch(outputs_kernel<kAnyForm, kAnyForm, 1>, size, call);
    }
}

}  // namespace

void run_hidden(const BlockDecode::Args& args) { run_hidden_by(args, nullptr); }
void run_hidden_early(const BlockDecode::Args& args) { run_hidden_by(args, chosen_of(args)); }
void run_outputs(const BlockDecode::Args& args, const Ways& ways) {
    run_outputs_by(args, ways, nullptr);
}
void run_outputs_early(const BlockDecode::Args& args, const Ways& ways) {
    run_outputs_by(args, ways, chosen_of(args));
}

}  // namespace steady::cuda
