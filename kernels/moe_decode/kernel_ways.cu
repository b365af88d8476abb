// Enqueues the joined experts with one thing otherwise than kernel.cu does: launches for each
// expert, a part of a kernel in a kernel of its own, or another way to choose. For questions: what
// each part that kernel.cu joins is worth.
#include "kernels/moe_decode/body.h"
#include "kernels/moe_decode/cuda.h"
#include "kernels/products/cuda.h"

namespace steady::cuda {
namespace {

using namespace experts;

struct InParts : Whole {
    static constexpr bool kFirst = true;
};
struct GateAlone : Whole {
    static constexpr Part kPart = Part::gate;
};
struct UpBehindGate : Whole {
    static constexpr Part kPart = Part::up;
};
struct BothProducts : Whole {
    static constexpr Part kPart = Part::products;
};
struct ByThread : Whole {
    static constexpr Pick kPick = Pick::thread;
};
struct ByWarp : Whole {
    static constexpr Pick kPick = Pick::warp;
};
struct Divided : Whole {
    static constexpr Weigh kWeigh = Weigh::divided;
};
struct Estimated : Whole {
    static constexpr Weigh kWeigh = Weigh::estimated;
};
struct FromMemory : Whole {
    static constexpr Pick kPick = Pick::read;
};

// The kernels are made for experts in Q4_0, and a shared one whose hidden values come from Q5_K.
template <class Way>
void launch_hidden(const Size& size, const HiddenCall& call) {
    launch(hidden_kernel<only(Form::q4_0), only(Form::q5_k), Way>, size, call);
}

template <int kUnit = 1, bool kBehind = false>
void launch_down(const Size& size, const DownCall& call) {
    call.shared_down.form == Form::q6_k
        ? launch(down_kernel<only(Form::q4_0), only(Form::q6_k), kUnit, kBehind>, size, call)
        : launch(down_kernel<only(Form::q4_0), kAnyForm, kUnit, kBehind>, size, call);
}

// Words of 16 bytes of a unit's two products, whose place its bytes take.
constexpr int kUnitOfProducts = 16;

struct GateCall {
    const float* sums;
    Vector bytes;
    int n;
};

// Four values to a thread. What a unit's lanes read here lies where they write its bytes, after
// they have met in put_bytes.
__global__ void __launch_bounds__(256) gate_kernel(const __grid_constant__ GateCall call) {
    let_consumers_start();
    wait_for_producers();
    const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x), u = i / 8;
    const bool valid = 4 * i < call.n;
    float4 v = {0, 0, 0, 0};
    if (valid) {
        const float4* at = reinterpret_cast<const float4*>(call.sums) + kUnitOfProducts * u + i % 8;
        const float4 gate = __ldcg(at), up = __ldcg(at + 8);
        v = {gated(gate.x, up.x), gated(gate.y, up.y), gated(gate.z, up.z), gated(gate.w, up.w)};
    }
    const Vector own = {nullptr, call.bytes.low + (kUnitOfProducts - 1) * u,
                        call.bytes.high + (kUnitOfProducts - 1) * u,
                        call.bytes.s + (2 * kUnitOfProducts - 1) * u};
    put_bytes(own, i, v, valid);
}

struct NormCall {
    Source source;
    float* y;
};

__global__ void __launch_bounds__(256) norm_kernel(const __grid_constant__ NormCall call) {
    extern __shared__ uint4 memory[];
    let_consumers_start();
    auto* parts = reinterpret_cast<float*>(memory);
    const Vector x =
        vector_at(reinterpret_cast<unsigned char*>(memory) + kPartsBytes, call.source.n);
    const float4 weights = first_weights(call.source);
    wait_for_producers();
    prepare(call.source, x, weights, parts);
    for (int i = static_cast<int>(threadIdx.x); 4 * i < call.source.n; i += 256) {
        reinterpret_cast<float4*>(call.y)[i] = reinterpret_cast<const float4*>(x.f)[i];
    }
}

struct ChoiceCall {
    ExpertChoice choice;
    int* ids;
    float* weights;
};

__global__ void __launch_bounds__(256) choice_kernel(const __grid_constant__ ChoiceCall call) {
    extern __shared__ uint4 memory[];
    let_consumers_start();
    wait_for_producers();
    const Chosen chosen = chosen_at(reinterpret_cast<unsigned char*>(memory), call.choice);
    choose(call.choice, chosen);
    const int t = static_cast<int>(threadIdx.x);
    if (t >= call.choice.n_used) return;
    call.ids[t] = chosen.ids[t];
    call.weights[t] = chosen.weights[t];
}

// What one expert has of the call, or, behind the last one, the shared expert.
__host__ __device__ DownCall part_of(const DownCall& all, int which) {
    DownCall one = all;
    const bool shared = which == all.n_used;
    const int units = which * all.hidden / 32;
    one.n_used = shared ? 0 : 1;
    one.shared = shared ? all.shared : 0;
    one.ids += which;
    one.weights += which;
    one.bytes.low += units;
    one.bytes.high += units;
    one.bytes.s += units;
    return one;
}

struct OutputsCall {
    DownCall all;
    float* outputs;  // [n_used, and the shared expert][cols]
    int blocks_of_part;
};

// A warp takes an output through one expert alone, unweighted.
template <int kShared>
__global__ void __launch_bounds__(256, 3) outputs_kernel(const __grid_constant__ OutputsCall call) {
    extern __shared__ uint4 memory[];
    let_consumers_start();
    const int which = static_cast<int>(blockIdx.x) / call.blocks_of_part;
    const int row =
        static_cast<int>(blockIdx.x) % call.blocks_of_part * 8 + static_cast<int>(threadIdx.x) / 32;
    const DownCall one = part_of(call.all, which);
    const Vector x =
        vector_at(reinterpret_cast<unsigned char*>(memory), one.n_used * one.hidden + one.shared);
    wait_for_producers();
    const auto ready = [&] {
        take_hidden<false>(one, x);
        __syncthreads();
    };
    float sum = 0;
    if (one.n_used > 0) {
        sum = down_of_experts<Unit<Form::q4_0>>(one, row, x, ready);
    } else {
        ready();
        if (row >= one.cols) return;
        with_form_of<kShared>(one.shared_down.form, [&](auto unit) {
            sum = down_of_shared<decltype(unit)>(one, row, x);
        });
    }
    sum = warp_sum(sum);
    if (threadIdx.x % 32 == 0 && row < one.cols) call.outputs[which * one.cols + row] = sum;
}

struct SumCall {
    const float* outputs;
    const float* weights;
    float* x;
    int n_used, cols;
    bool shared;
};

__global__ void __launch_bounds__(256) sum_kernel(const __grid_constant__ SumCall call) {
    let_consumers_start();
    wait_for_producers();
    const int c = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    if (c >= call.cols) return;
    float sum = call.shared ? __ldcg(call.outputs + call.n_used * call.cols + c) : 0.0F;
    for (int e = 0; e < call.n_used; ++e) {
        sum += __ldcg(call.weights + e) * __ldcg(call.outputs + e * call.cols + c);
    }
    call.x[c] = __ldcg(call.x + c) + sum;
}

Vector bytes_from(float* memory, std::int64_t step) {
    Vector v = {};
    v.low = reinterpret_cast<uint4*>(memory);
    v.high = v.low + step;
    v.s = reinterpret_cast<float2*>(v.high + step);
    return v;
}

// ------------------------------------------------------------------- what is enqueued, by phases

float* normed_at(const MoeDecode::Args& args) {
    return args.hidden + 2 * args.shape.n_hidden() - args.shape.cols;
}

void norm_apart(const MoeDecode::Args& args) {
    const int cols = static_cast<int>(args.shape.cols);
    Size size;
    size.threads = 256;
    size.shared_bytes = kPartsBytes + vector_bytes(cols, false);
    launch(norm_kernel, size,
           NormCall{{args.x, args.norm, args.eps, cols, Make::normed, false}, normed_at(args)});
    Products::Args router = {};
    router.shape = {args.router.type, args.router.rows, args.router.cols, 1, 1};
    router.m[0] = args.router;
    router.y[0] = args.logits;
    router.x = normed_at(args);
    run_products(router, false);
}

// Each expert's hidden values in a launch, or those of all chosen ones; then the shared expert's.
void hidden_in_parts(Size size, HiddenCall call, bool each) {
    const int shared_blocks = size.blocks - call.expert_blocks;
    size.blocks = each ? call.blocks_of_expert : call.expert_blocks;
    for (; call.first_block < call.expert_blocks; call.first_block += size.blocks) {
        launch_hidden<InParts>(size, call);
    }
    size.blocks = shared_blocks;
    if (shared_blocks > 0) launch_hidden<InParts>(size, call);
}

void down_in_parts(const MoeDecode::Args& args, Size size, const DownCall& all, bool each) {
    const auto one = [&](const DownCall& call) {
        size.shared_bytes = vector_bytes(call.n_used * call.hidden + call.shared, true);
        launch_down(size, call);
    };
    if (each) {
        for (int e = 0; e < all.n_used; ++e) one(part_of(all, e));
    } else {
        DownCall routed = all;
        routed.shared = 0;
        one(routed);
    }
    if (args.shape.shared > 0) one(part_of(all, all.n_used));
}

void gate_apart(const MoeDecode::Args& args) {
    const auto n = static_cast<int>(args.shape.n_hidden());
    Size size;
    size.threads = 256;
    size.blocks = (n / 4 + 255) / 256;
    launch(gate_kernel, size, GateCall{args.hidden, bytes_from(args.hidden, 1), n});
}

void sum_apart(const MoeDecode::Args& args, Size size, const DownCall& all) {
    const MoeDecodeShape& s = args.shape;
    const bool shared = s.shared > 0;
    OutputsCall call = {all, args.hidden + s.n_hidden() / 32 * 10, size.blocks};
    call.all.bytes = bytes_from(args.hidden, s.n_hidden() / 32);
    size.blocks *= all.n_used + (shared ? 1 : 0);
    size.shared_bytes = vector_bytes(std::max(s.hidden, s.shared), true);
    all.shared_down.form == Form::q6_k ? launch(outputs_kernel<only(Form::q6_k)>, size, call)
                                       : launch(outputs_kernel<kAnyForm>, size, call);
    size.blocks = (all.cols + 255) / 256;
    size.shared_bytes = 0;
    launch(sum_kernel, size,
           SumCall{call.outputs, args.weights, args.x, all.n_used, all.cols, shared});
}

void run_hidden(const MoeDecode::Args& args, ExpertsWay way) {
    Size size;
    HiddenCall call = hidden_call(args, false, size);
    // A shape says the type of one matrix; the ways lay their own things where floats would lie.
    const bool shared = call.shared > 0;
    if (call.floats != nullptr || call.up.form != Form::q4_0 || args.down.type != Type::q4_0 ||
        (shared && call.shared_up.form != Form::q5_k)) {
        return note_failure(cudaErrorNotSupported);
    }
    switch (way) {
        case ExpertsWay::per_expert:
            return hidden_in_parts(size, call, true);
        case ExpertsWay::shared_apart:
            return hidden_in_parts(size, call, false);
        case ExpertsWay::gate_then_up:
            call.sums = args.hidden;
            launch_hidden<GateAlone>(size, call);
            return launch_hidden<UpBehindGate>(size, call);
        case ExpertsWay::swiglu_apart:
            call.sums = args.hidden;
            launch_hidden<BothProducts>(size, call);
            return gate_apart(args);
        case ExpertsWay::sum_apart:
            call.bytes = bytes_from(args.hidden, args.shape.n_hidden() / 32);
            return launch_hidden<Whole>(size, call);
        case ExpertsWay::choice_by_thread:
            return launch_hidden<ByThread>(size, call);
        case ExpertsWay::choice_by_warp:
            return launch_hidden<ByWarp>(size, call);
        case ExpertsWay::scale_apart:
            return launch_hidden<Divided>(size, call);
        case ExpertsWay::reciprocal:
            return launch_hidden<Estimated>(size, call);
        case ExpertsWay::weights_behind:
            return launch_hidden<Whole>(size, call);
        case ExpertsWay::choice_apart: {
            Size one;
            one.threads = 256;
            one.shared_bytes = chosen_bytes(args.shape);
            launch(choice_kernel, one, ChoiceCall{call.choice, call.ids, call.weights});
            return launch_hidden<FromMemory>(size, call);
        }
        case ExpertsWay::norm_apart:
            call.source.x = normed_at(args);
            call.source.make = Make::plain;
            return launch_hidden<Whole>(size, call);
    }
}

void run_down(const MoeDecode::Args& args, ExpertsWay way) {
    Size size;
    DownCall call = down_call(args, false, size);
    switch (way) {
        case ExpertsWay::per_expert:
            return down_in_parts(args, size, call, true);
        case ExpertsWay::shared_apart:
            return down_in_parts(args, size, call, false);
        case ExpertsWay::sum_apart:
            return sum_apart(args, size, call);
        case ExpertsWay::swiglu_apart:
            call.bytes = bytes_from(args.hidden, 1);
            return launch_down<kUnitOfProducts>(size, call);
        case ExpertsWay::weights_behind:
            return launch_down<1, true>(size, call);
        default:
            return run_moe_decode(args, {0, 1, 2}, false);
    }
}

}  // namespace

bool takes_way(const MoeDecodeShape& s, ExpertsWay way) {
    if (s.n_experts > kMostExperts || !experts_align(s) || s.type != Type::q4_0) return false;
    if (s.hidden % 32 != 0 || s.shared % 32 != 0) return false;
    if (s.shared > 0 && s.shared_type != Type::q5_k) return false;
    const std::int64_t n = s.n_hidden(), behind_bytes = 2 * n - n / 32 * 10;
    if (way == ExpertsWay::norm_apart) return behind_bytes - n >= s.cols;
    if (way == ExpertsWay::sum_apart) return behind_bytes >= (s.n_used + 1) * s.cols;
    return true;
}

void run_moe_decode_way(const MoeDecode::Args& args, Range range, ExpertsWay way) {
    if (range.phase == 1) return run_hidden(args, way);
    if (range.phase == 2) return run_down(args, way);
    way == ExpertsWay::norm_apart ? norm_apart(args) : run_moe_decode(args, range, false);
}

}  // namespace steady::cuda
