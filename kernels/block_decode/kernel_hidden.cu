// Hidden values of the chosen experts and the shared one, behind the output product. The router's
// sums lie there in parts, so that each block chooses for itself and asks for its rows at once.
#include <algorithm>

#include "kernels/block_decode/choice.h"
#include "kernels/block_decode/cuda.h"
#include "kernels/block_decode/handed.h"

namespace steady::cuda {
namespace {

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
    unsigned* chosen;    // or null
    unsigned char* out;
};

#if __CUDA_ARCH__ >= 900

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

}  // namespace

void run_hidden(const BlockDecode::Args& args, const Ways& ways) {
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
    if (ways.early) call.chosen = chosen_of(args);
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

}  // namespace steady::cuda
