// The kernels of the joined experts on a GPU. The first: every block chooses the experts for itself
// and makes 32 hidden values of one expert, in bytes where the next kernel wants bytes. The second:
// a warp takes an output through all chosen experts and the shared one, which makes the weighted
// sum and the residual its last step. kernel_ways.cu asks what each part of that is worth: it
// launches the same kernels in parts, or with something else in a part's place. For .cu files
// alone.
#pragma once

#include "kernels/cuda/rows.h"
#include "kernels/moe_decode/choice.h"
#include "kernels/moe_decode/op.h"

// A namespace of its own, since block_decode has calls of the same names.
namespace steady::cuda::experts {

inline constexpr int kRowsOfBlock =
    32;  // hidden values of a block: one unit of the next product's vector

struct HiddenCall {
    Source source;
    ExpertChoice choice;
    Matrix gate, up, shared_gate, shared_up;
    int hidden, shared;  // rows of an expert
    int blocks_of_expert, expert_blocks;
    int* ids;  // for the next kernel
    float* weights;
    float* floats;    // [n_used * hidden + shared], or null
    Vector bytes;     // in global memory, low null where nobody reads it
    int first_block;  // of a launch that makes a part: its first one, counted over all
    float* sums;      // of a launch that makes no gated values: see Part
};

struct DownCall {
    Matrix down, shared_down;
    int n_used, hidden, shared, cols;
    const int* ids;
    const float* weights;
    const float* floats;
    Vector bytes;
    float* x;
};

// Calls put(r, gate · x, up · x) for rows first + r, r < n, in one lane each. A warp's rows are
// asked for two at a time; what does not depend on the vector before `ready` makes it. Without kUp
// it is one product only.
template <class U, bool kUp = true, class Put, class Ready>
__device__ void hidden_rows(const Matrix& gate, const Matrix& up, int first_row, int n,
                            const Vector& x, Put put, Ready ready) {
    constexpr int kN = 2, kTogether = U::kBytes ? 2 : 1;
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int n_warps = static_cast<int>(blockDim.x) / 32;
    const int units = U::units(gate.cols);
    int r = static_cast<int>(threadIdx.x) / 32, first = lane;
    U g[kTogether][kN], u[kTogether][kN];
    const auto load = [&](int row, int from) {
#pragma unroll
        for (int t = 0; t < kTogether; ++t) {
            if (row + t * n_warps >= n) continue;
            load_part(g[t], U::row(gate, first_row + row + t * n_warps), from, units);
            if constexpr (kUp) {
                load_part(u[t], U::row(up, first_row + row + t * n_warps), from, units);
            }
        }
    };
    if (r < n) load(r, first);
    ready();
    float of_gate[kTogether] = {}, of_up[kTogether] = {};
    while (r < n) {
        const bool last = first - lane + 32 * kN >= units;
        const int next_row = last ? r + kTogether * n_warps : r;
        const int next_first = last ? lane : first + 32 * kN;
#pragma unroll
        for (int t = 0; t < kTogether; ++t) {
            if (r + t * n_warps >= n) continue;
            of_gate[t] += dot_part(g[t], x, first, units);
            if constexpr (kUp) of_up[t] += dot_part(u[t], x, first, units);
        }
        if (next_row < n) load(next_row, next_first);
        if (last) {
#pragma unroll
            for (int t = 0; t < kTogether; ++t) {
                of_gate[t] = warp_sum(of_gate[t]);
                if constexpr (kUp) of_up[t] = warp_sum(of_up[t]);
                const int row = r + t * n_warps;
                if (lane == 0 && row < n) put(row, of_gate[t], of_up[t]);
                of_gate[t] = of_up[t] = 0;
            }
        }
        r = next_row;
        first = next_first;
    }
}

__device__ inline void store_hidden(const HiddenCall& call, const float* values, int first, int n) {
    const int t = static_cast<int>(threadIdx.x);
    if (t >= 32) return;
    if (call.floats != nullptr && t < n) call.floats[first + t] = values[t];
    if (call.bytes.low == nullptr) return;
    const bool valid = t < 8;
    const float4 v = valid ? reinterpret_cast<const float4*>(values)[t] : float4{0, 0, 0, 0};
    put_bytes(call.bytes, first / 4 + t, v, valid);
}

// What a kernel of hidden values makes: all of them; the products with gate, or those with up and
// the gated values behind them; or both products, and another kernel gates them. Products lie in
// call.sums: those with gate as the hidden values do; of both, 32 with gate and 32 with up in
// turns.
enum class Part : int { gated, gate, up, products };
// How a block learns which experts: each block by ranks, by one thread that looks for the best one
// after the other, by a warp that does so, or from memory where a kernel before left it.
enum class Pick : int { ranks, thread, warp, read };

struct Whole {
    static constexpr Part kPart = Part::gated;
    static constexpr Pick kPick = Pick::ranks;
    static constexpr Weigh kWeigh = Weigh::factor;
    static constexpr bool kFirst = false;  // whether the call says which block is the first
};

// From here on `put` of hidden_rows, for rows from value `first` on.
template <Part kPart>
__device__ inline auto put_of(const HiddenCall& call, float* values, int first) {
    return [&call, values, first](int r, float gate, float up) {
        if constexpr (kPart == Part::gated) values[r] = gated(gate, up);
        if constexpr (kPart == Part::gate) call.sums[first + r] = gate;
        if constexpr (kPart == Part::up) values[r] = gated(__ldcg(call.sums + first + r), gate);
        if constexpr (kPart == Part::products) {
            call.sums[2 * first + r] = gate;
            call.sums[2 * first + kRowsOfBlock + r] = up;
        }
    };
}

template <int kRouted, int kShared, class Way = Whole>
__global__ void __launch_bounds__(256, 2) hidden_kernel(const __grid_constant__ HiddenCall call) {
    constexpr Part kPart = Way::kPart;
    constexpr bool kUp = kPart == Part::gated || kPart == Part::products;
    extern __shared__ uint4 memory[];
    __shared__ __align__(16) float values[kRowsOfBlock];
    let_consumers_start();
    auto* shared = reinterpret_cast<unsigned char*>(memory);
    auto* parts = reinterpret_cast<float*>(shared);
    const Vector x = vector_at(shared + kPartsBytes, call.source.n);
    const int block = static_cast<int>(blockIdx.x) + (Way::kFirst ? call.first_block : 0);
    const float4 weights = first_weights(call.source);
    const auto ready = [&] {
        wait_for_producers();
        prepare(call.source, x, weights, parts);
        __syncthreads();
    };
    int first_value = 0, n = 0;
    if (block >= call.expert_blocks) {
        const int row = (block - call.expert_blocks) * kRowsOfBlock;
        n = min(kRowsOfBlock, call.shared - row);
        first_value = call.choice.n_used * call.hidden + row;
        with_form_of<kShared>(call.shared_gate.form, [&](auto unit) {
            hidden_rows<decltype(unit), kUp>(kPart == Part::up ? call.shared_up : call.shared_gate,
                                             call.shared_up, row, n, x,
                                             put_of<kPart>(call, values, first_value), ready);
        });
    } else {
        const Chosen chosen = chosen_at(
            reinterpret_cast<unsigned char*>(x.f) + vector_bytes(call.source.n, call.source.bytes),
            call.choice);
        ready();
        const int t = static_cast<int>(threadIdx.x);
        const int expert = block / call.blocks_of_expert;
        if constexpr (Way::kPick == Pick::read) {
            if (t < call.choice.n_used) chosen.ids[t] = __ldcg(call.ids + t);
            __syncthreads();
        } else {
            if constexpr (Way::kPick == Pick::ranks) {
                choose<Way::kWeigh>(call.choice, chosen);
            } else {
                choose_in_turn<Way::kPick == Pick::warp>(call.choice, chosen);
            }
            if (block == 0 && t < call.choice.n_used) {
                call.ids[t] = chosen.ids[t];
                call.weights[t] = chosen.weights[t];
            }
        }
        const int row = block % call.blocks_of_expert * kRowsOfBlock;
        n = min(kRowsOfBlock, call.hidden - row);
        first_value = expert * call.hidden + row;
        const int first_row = chosen.ids[expert] * call.hidden + row;
        with_form_of<kRouted>(call.gate.form, [&](auto unit) {
            hidden_rows<decltype(unit), kUp>(kPart == Part::up ? call.up : call.gate, call.up,
                                             first_row, n, x,
                                             put_of<kPart>(call, values, first_value), [] {});
        });
    }
    if constexpr (kPart == Part::gate || kPart == Part::products) return;
    __syncthreads();
    store_hidden(call, values, first_value, n);
}

// The hidden values in shared memory, those of an expert times its weight where kWeighted. kUnit:
// words of 16 bytes from a unit's bytes in global memory to the next one's.
template <bool kWeighted = true, int kUnit = 1>
__device__ void take_hidden(const DownCall& call, const Vector& x) {
    const int threads = static_cast<int>(blockDim.x), t = static_cast<int>(threadIdx.x);
    const int routed = call.n_used * call.hidden, n = routed + call.shared;
    const auto weight = [&](int i) {
        return kWeighted && i < routed ? __ldcg(call.weights + i / call.hidden) : 1.0F;
    };
    if (call.floats != nullptr) {
        for (int i = t; i < n; i += threads) x.f[i] = __ldcg(call.floats + i) * weight(i);
    }
    if (call.bytes.low == nullptr) return;
    for (int u = t; u < n / 32; u += threads) {
        x.low[u] = __ldcg(call.bytes.low + kUnit * u);
        x.high[u] = __ldcg(call.bytes.high + kUnit * u);
        float2 s = __ldcg(call.bytes.s + (kUnit == 1 ? 1 : 2 * kUnit) * u);
        s.x *= weight(32 * u);
        x.s[u] = s;
    }
}

// Unit g of the experts' rows `row`, counted over all of them.
template <class U>
__device__ void load_of_expert(const DownCall& call, int row, int g, int of_expert, U& unit) {
    const int e = g / of_expert;
    unit.load(U::row(call.down, __ldcg(call.ids + e) * call.cols + row), g - e * of_expert);
}

// kBehind: an expert's weight meets its products, not its hidden values.
template <class U, bool kBehind = false, class Ready>
__device__ float down_of_experts(const DownCall& call, int row, const Vector& x, Ready ready) {
    constexpr int kN = U::kBytes ? 6 : 8;
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int of_expert = U::units(call.hidden), units = call.n_used * of_expert;
    const bool has_row = row < call.cols;
    U held[kN];
    const auto load = [&](int first) {
#pragma unroll
        for (int i = 0; i < kN; ++i) {
            const int g = first + 32 * i;
            if (has_row && g < units) load_of_expert(call, row, g, of_expert, held[i]);
        }
    };
    load(lane);
    ready();
    float sum = 0;
    for (int first = lane; has_row && first - lane < units; first += 32 * kN) {
        if (first != lane) load(first);
        if constexpr (kBehind) {
#pragma unroll
            for (int i = 0; i < kN; ++i) {
                const int g = first + 32 * i;
                if (g < units) sum += __ldcg(call.weights + g / of_expert) * held[i].dot(x, g);
            }
        } else {
            sum += dot_part(held, x, first, units);
        }
    }
    return sum;
}

template <class U>
__device__ float down_of_shared(const DownCall& call, int row, const Vector& x) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int units = U::units(call.shared), before = call.n_used * U::units(call.hidden);
    constexpr int kN = U::kBytes ? 2 : 8;
    const RowParts at = U::row(call.shared_down, row);
    float sum = 0;
    for (int first = lane; first - lane < units; first += 32 * kN) {
        U held[kN];
        load_part(held, at, first, units);
#pragma unroll
        for (int i = 0; i < kN; ++i) {
            const int u = first + 32 * i;
            if (u < units) sum += held[i].dot(x, before + u);
        }
    }
    return sum;
}

template <int kRouted, int kShared, int kUnit = 1, bool kBehind = false>
__global__ void __launch_bounds__(256, 3) down_kernel(const __grid_constant__ DownCall call) {
    extern __shared__ uint4 memory[];
    let_consumers_start();
    const Vector x = vector_at(reinterpret_cast<unsigned char*>(memory),
                               call.n_used * call.hidden + call.shared);
    const int n_warps = static_cast<int>(blockDim.x) / 32;
    const int row = static_cast<int>(blockIdx.x) * n_warps + static_cast<int>(threadIdx.x) / 32;
    wait_for_producers();
    float sum = 0;
    with_form_of<kRouted>(call.down.form, [&](auto unit) {
        sum = down_of_experts<decltype(unit), kBehind>(call, row, x, [&] {
            take_hidden<!kBehind, kUnit>(call, x);
            __syncthreads();
        });
    });
    if (row >= call.cols) return;
    if (call.shared > 0) {
        with_form_of<kShared>(call.shared_down.form, [&](auto unit) {
            sum += down_of_shared<decltype(unit)>(call, row, x);
        });
    }
    sum = warp_sum(sum);
    if (threadIdx.x % 32 == 0) call.x[row] = __ldcg(call.x + row) + sum;
}

// The hidden values' two forms: floats, and behind them bytes.
inline Vector bytes_at(const MoeDecode::Args& args) {
    const std::int64_t n = args.shape.n_hidden();
    Vector v = {};
    v.low = reinterpret_cast<uint4*>(args.hidden + n);
    v.high = v.low + n / 32;
    v.s = reinterpret_cast<float2*>(v.high + n / 32);
    return v;
}

struct Forms {
    bool floats, bytes;  // of the hidden values that the down product reads
};
inline Forms forms_of(const Matrix& down, const Matrix& shared_down, bool shared) {
    return {reads_floats(down) || (shared && reads_floats(shared_down)),
            !reads_floats(down) || (shared && !reads_floats(shared_down))};
}

// What the kernel of hidden values is told, and its size.
inline HiddenCall hidden_call(const MoeDecode::Args& args, bool as_floats, Size& size) {
    const MoeDecodeShape& s = args.shape;
    HiddenCall call = {};
    call.gate = device_matrix(args.gate, as_floats);
    call.up = device_matrix(args.up, as_floats);
    call.shared_gate = device_matrix(args.shared_gate, as_floats);
    call.shared_up = device_matrix(args.shared_up, as_floats);
    const bool shared = s.shared > 0;
    const bool bytes = !reads_floats(call.gate) || !reads_floats(call.up) ||
                       (shared && !reads_floats(call.shared_gate));
    call.source = {args.x, args.norm, args.eps, static_cast<int>(s.cols), Make::normed, bytes};
    call.choice = {args.logits,
                   args.bias,
                   static_cast<int>(s.n_experts),
                   static_cast<int>(s.n_used),
                   args.gating == Gating::sigmoid,
                   args.normalise,
                   args.scale == 0 ? 1.0F : args.scale,
                   MoeRouter::kSmallestSum};
    call.hidden = static_cast<int>(s.hidden);
    call.shared = static_cast<int>(s.shared);
    call.blocks_of_expert = (call.hidden + kRowsOfBlock - 1) / kRowsOfBlock;
    call.expert_blocks = call.choice.n_used * call.blocks_of_expert;
    call.ids = args.ids;
    call.weights = args.weights;
    const Forms forms = forms_of(device_matrix(args.down, as_floats),
                                 device_matrix(args.shared_down, as_floats), shared);
    if (forms.floats) call.floats = args.hidden;
    if (forms.bytes) call.bytes = bytes_at(args);
    size.threads = 256;
    size.blocks = call.expert_blocks + (call.shared + kRowsOfBlock - 1) / kRowsOfBlock;
    size.shared_bytes = kPartsBytes + vector_bytes(s.cols, bytes) + chosen_bytes(s);
    return call;
}

inline DownCall down_call(const MoeDecode::Args& args, bool as_floats, Size& size) {
    const MoeDecodeShape& s = args.shape;
    DownCall call = {};
    call.down = device_matrix(args.down, as_floats);
    call.shared_down = device_matrix(args.shared_down, as_floats);
    call.n_used = static_cast<int>(s.n_used);
    call.hidden = static_cast<int>(s.hidden);
    call.shared = static_cast<int>(s.shared);
    call.cols = static_cast<int>(s.cols);
    call.ids = args.ids;
    call.weights = args.weights;
    const Forms forms = forms_of(call.down, call.shared_down, s.shared > 0);
    if (forms.floats) call.floats = args.hidden;
    if (forms.bytes) call.bytes = bytes_at(args);
    call.x = args.x;
    size.threads = 256;
    size.blocks = (call.cols + 7) / 8;
    size.shared_bytes = vector_bytes(s.n_hidden(), forms.bytes);
    return call;
}

// The published mixture has kernels of its own.
inline bool is_known(const HiddenCall& call) {
    return call.gate.form == Form::q4_0 && call.up.form == Form::q4_0 && call.shared > 0 &&
           call.shared_gate.form == Form::q5_k && call.shared_up.form == Form::q5_k;
}
inline bool is_known(const DownCall& call) {
    return call.down.form == Form::q4_0 && call.shared > 0 && call.shared_down.form == Form::q6_k;
}

}  // namespace steady::cuda::experts
