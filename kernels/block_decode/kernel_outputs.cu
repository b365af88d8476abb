// The outputs of the chosen experts and the shared one, with the weighted sum and the residual.
#include <algorithm>

#include "kernels/block_decode/choice.h"
#include "kernels/block_decode/cuda.h"
#include "kernels/block_decode/handed.h"

namespace steady::cuda {
namespace {

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

// A choice that did not come would hang the GPU.
__device__ inline void await_choice(const unsigned* chosen) {
    const long long begin = clock64();
    unsigned seen = 0;
    while (seen != 1) {
        asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(chosen) : "memory");
        if (clock64() - begin > (1LL << 35)) __trap();
    }
}

#endif

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

void run_outputs(const BlockDecode::Args& args, const Ways& ways) {
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
    if (ways.early) call.chosen = chosen_of(args);
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

}  // namespace steady::cuda
