// The first products of a block, and its output product with the residual and the router.
#include <cooperative_groups.h>

#include <algorithm>

#include "kernels/block_decode/cuda.h"
#include "kernels/block_decode/handed.h"
#include "kernels/mla_decode/cuda.h"

namespace steady::cuda {
namespace {

namespace cg = cooperative_groups;

constexpr int kFirstThreads = 256;  // a warp for two of a group's rows
constexpr int kOutputThreads = 256;

struct FirstCall {
    Matrix m[2];
    float* y[2];
    int first_block;  // of the second matrix
    int n;
    float eps;
    // x as floats and its norm, or handed over with its squares.
    const float* x;
    const float* norm;
    const unsigned char* handed;
    const float* squares;
    // For the attention: the query normed but for its factor, null where it comes whole.
    const float* query_norm;
    unsigned char* query;
    float* out_squares[2];
    int square_groups;  // of the second matrix
    unsigned* chosen;   // by this block's feed-forward: not yet
};

#if __CUDA_ARCH__ >= 900

// x · norm as a handed vector; returns the norm's factor.
__device__ float norm_and_hand(const FirstCall& call, const Handed& out, float* parts) {
    const int t = static_cast<int>(threadIdx.x);
    float squares = 0;
    for (int base = 0; base < call.n / 4; base += kFirstThreads) {
        const int i = base + t;
        const bool valid = i < call.n / 4;
        float4 v = {0, 0, 0, 0};
        if (valid) {
            v = __ldcg(reinterpret_cast<const float4*>(call.x) + i);
            squares += v.x * v.x + v.y * v.y + v.z * v.z + v.w * v.w;
            const float4 w = __ldg(reinterpret_cast<const float4*>(call.norm) + i);
            v = {v.x * w.x, v.y * w.y, v.z * w.z, v.w * w.w};
        }
        put_four(out, i, v, valid);
    }
    return rsqrtf(block_sum(squares, parts) / static_cast<float>(call.n) + call.eps);
}

#endif

template <int kOnly>
__global__ void __launch_bounds__(kFirstThreads, 2)
    first_kernel(const __grid_constant__ FirstCall call) {
#if __CUDA_ARCH__ >= 900
    extern __shared__ uint4 memory[];
    __shared__ Arrival arrival;
    __shared__ float parts[32], factor;
    __shared__ __align__(16) float values[kGroup];
    let_consumers_start();
    const int block = static_cast<int>(blockIdx.x), warp = static_cast<int>(threadIdx.x) / 32;
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int which = block >= call.first_block ? 1 : 0;
    const int group = which == 0 ? block : block - call.first_block;
    const Matrix& m = call.m[which];
    const Handed x = handed_at(memory, call.n);
    auto* rows = reinterpret_cast<unsigned char*>(memory) + handed_bytes(call.n);
    if (threadIdx.x == 0) {
        make_arrivals(&arrival, 1);
        expect(&arrival, 2 * chunk_bytes(m.form, m.cols));
        ask_rows(rows, m, group * kGroup, kGroup, &arrival);
    }
    const float4 weights = weights_to_hand(which == 0 ? call.query_norm : nullptr, group);
    wait_for_producers();
    if (block == 0 && threadIdx.x == 0) *call.chosen = 0;
    if (call.handed != nullptr) {
        if (warp == 0) {
            const float own = norm_factor_of(call.squares, call.n / kGroup, call.n, call.eps);
            if (lane == 0) factor = own;
        } else {
            take_handed(x, call.handed, call.n, 32);
        }
    } else {
        const float own = norm_and_hand(call, x, parts);
        if (threadIdx.x == 0) factor = own;
    }
    __syncthreads();
    await(&arrival);
    float sums[2] = {};
    with_planes_of<kOnly>(m.form, [&](auto unit) {
        dot_rows<decltype(unit)>(sums, in_memory(rows, m), 2 * warp, x, lane, 32);
    });
    sums[0] = warp_sum(sums[0]) * factor;
    sums[1] = warp_sum(sums[1]) * factor;
    if (lane < 2) {
        const float value = lane == 0 ? sums[0] : sums[1];
        values[2 * warp + lane] = value;
        call.y[which][group * kGroup + 2 * warp + lane] = value;
    }
    __syncthreads();
    if (warp != 0) return;
    if (which == 1) {
        float square = threadIdx.x < kGroup ? values[threadIdx.x] * values[threadIdx.x] : 0.0F;
        square = warp_sum(square);
        const bool keeps = threadIdx.x == 0 && group < call.square_groups;
        if (keeps) call.out_squares[1][group] = square;
    } else if (call.query_norm != nullptr) {
        hand_over({call.query, call.out_squares[0], m.rows}, 1, group, values, weights);
    }
#endif
}

struct OutputCall {
    Matrix m;
    int n;
    const float* floats;          // the vector, or null
    const unsigned char* handed;  // else
    float* x;
    const float* norm;  // of the feed-forward
    unsigned char* ffn;
    float* squares;
    const float* router;
    int n_experts;
    float* logits;
};

constexpr int kMostRouterLoads = 4;  // of a thread: four columns of an expert each
[[maybe_unused]] constexpr int kMostExpertsHere = kMostRouterLoads * kOutputThreads / 4;

template <int kOnly, int kSplit>
__global__ void __launch_bounds__(kOutputThreads* kSplit, 2)
    output_kernel(const __grid_constant__ OutputCall call) {
#if __CUDA_ARCH__ >= 900
    extern __shared__ uint4 memory[];
    constexpr int kAll = kOutputThreads * kSplit, kLoads = kMostRouterLoads / kSplit;
    __shared__ Arrival arrivals[2];
    __shared__ float others[2 * kOutputThreads / 32];
    __shared__ __align__(16) float values[kGroup];
    __shared__ float logits[8][kMostExpertsHere];  // of the cluster's blocks, in each of them
    let_consumers_start();
    const int t = static_cast<int>(threadIdx.x), warp = t / 32, lane = t % 32;
    const int pair = warp % (kOutputThreads / 32), part = warp / (kOutputThreads / 32);
    const int group = static_cast<int>(blockIdx.x);
    const auto cluster = cg::this_cluster();
    const Handed x = handed_at(memory, call.n);
    auto* rows = reinterpret_cast<unsigned char*>(memory) + handed_bytes(call.n);
    const int chunk = chunk_bytes(call.m.form, call.m.cols);
    const bool routes = call.n_experts != 0;
    if (routes) arrive_in_cluster();
    if (t == 0) {
        make_arrivals(arrivals, 2);
        for (int i = 0; i < 2; ++i) {
            expect(arrivals + i, chunk);
            ask_rows(rows + i * chunk, call.m, group * kGroup + 8 * i, 8, arrivals + i);
        }
    }
    // This group's columns of the router, and its norm's weights.
    float4 router[kLoads];
    const int column = group * kGroup + t % 4 * 4;
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
        const int e = t / 4 + i * kAll / 4;
        if (e < call.n_experts) {
            router[i] = __ldg(reinterpret_cast<const float4*>(
                call.router + static_cast<long long>(e) * call.m.rows + column));
        }
    }
    const float4 norm = __ldg(reinterpret_cast<const float4*>(call.norm + column));
    const int size = static_cast<int>(cluster.num_blocks());
    wait_for_producers();
    float before = 0;
    if (part == 0 && lane < 2) before = __ldcg(call.x + group * kGroup + 2 * pair + lane);
    if (call.floats == nullptr) {
        take_handed(x, call.handed, call.n);
    } else {
        for (int base = 0; base < call.n / 4; base += kAll) {
            const bool valid = base + t < call.n / 4;
            float4 v = {0, 0, 0, 0};
            if (valid) v = __ldcg(reinterpret_cast<const float4*>(call.floats) + base + t);
            put_four(x, base + t, v, valid);
        }
    }
    __syncthreads();
    await(arrivals + pair / 4);
    float sums[2] = {};
    with_planes_of<kOnly>(call.m.form, [&](auto unit) {
        dot_rows<decltype(unit)>(sums, in_memory(rows, call.m), 2 * pair, x, lane + 32 * part,
                                 32 * kSplit);
    });
    sums[0] = warp_sum(sums[0]);
    sums[1] = warp_sum(sums[1]);
    bring_halves<kSplit>(sums, others);
    if (part == 0 && lane < 2) {
        const float value = before + (lane == 0 ? sums[0] : sums[1]);
        values[2 * pair + lane] = value;
        call.x[group * kGroup + 2 * pair + lane] = value;
    }
    __syncthreads();
    if (warp == kAll / 32 - 1) {
        hand_over({call.ffn, call.squares, call.m.rows}, kFfnCopies, group, values, norm);
    }
    if (!routes) return;
    const float4 v = reinterpret_cast<const float4*>(values)[t % 4];
    const float4 normed = {v.x * norm.x, v.y * norm.y, v.z * norm.z, v.w * norm.w};
    wait_in_cluster();  // nobody writes into a block that has not begun
    float* own = &logits[cluster.block_rank()][0];
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
        const int e = t / 4 + i * kAll / 4;
        if (i * kAll / 4 >= call.n_experts) break;
        float sum = 0;
        if (e < call.n_experts) {
            sum = router[i].x * normed.x + router[i].y * normed.y + router[i].z * normed.z +
                  router[i].w * normed.w;
        }
        sum += __shfl_xor_sync(0xFFFFFFFFU, sum, 1);
        sum += __shfl_xor_sync(0xFFFFFFFFU, sum, 2);
        for (int b = t % 4; b < size && e < call.n_experts; b += 4) {
            cluster.map_shared_rank(own, static_cast<unsigned>(b))[e] = sum;
        }
    }
    cluster.sync();
    // Each block sums all, and makes its share of the copies.
    const int parts = static_cast<int>(gridDim.x) / size;
    const int own_part = static_cast<int>(blockIdx.x) / size;
    for (int e = t; e < call.n_experts; e += kAll) {
        float sum = 0;
        for (int b = 0; b < size; ++b) sum += logits[b][e];
        for (int copy = static_cast<int>(cluster.block_rank()); copy < kFfnCopies; copy += size) {
            call.logits[(copy * parts + own_part) * call.n_experts + e] = sum;
        }
    }
#endif
}

}  // namespace

int output_cluster(const BlockDecodeShape& shape) {
    const std::int64_t groups = shape.cols / kGroup;
    if (shape.dense()) return 1;
    return groups % 8 == 0 ? 8 : groups % 4 == 0 ? 4 : groups % 2 == 0 ? 2 : 1;
}

BlockScratch scratch_of(const BlockDecode::Args& args) {
    const BlockDecodeShape& s = args.shape;
    float* at = args.scratch;
    const auto take = [&](std::int64_t floats) {
        float* begin = at;
        at += (floats + 3) / 4 * 4;
        return begin;
    };
    const auto bytes = [&](std::int64_t n) {
        return reinterpret_cast<unsigned char*>(take(n / 32 * 12));
    };
    BlockScratch out = {};
    // What one block hands the next lies first, since the rest depends on the block's kind.
    out.x = bytes(s.cols);
    out.x_squares = take(s.cols / kGroup);
    out.query = bytes(s.q_rank);
    out.values = bytes(s.n_heads * s.n_value);
    out.ffn = bytes(kFfnCopies * s.cols);
    out.hidden = bytes(kHiddenCopies * s.n_hidden());
    out.query_squares = take(s.q_rank / kGroup);
    out.kv_squares = take(s.kv_rank / kGroup);
    out.ffn_squares = take(kFfnCopies * (s.cols / kGroup));
    out.logits = take(kFfnCopies * (s.cols / kGroup) * s.n_experts);
    return out;
}

void run_phase(const BlockDecode::Args& args, int phase, const Ways& ways) {
    const bool deep = args.shape.n_positions > kDeepFrom;
    const bool tiles = ways.tiles && deep && tiles_fit(args.shape);
    const bool from_floats = !ways.tiles && deep && deep_fits(args.attention);
    switch (phase) {
        case 0:
            return run_first(args);
        case 1:
            if (tiles) return run_tiles(args, ways);
            if (from_floats) return run_deep(args.attention, kAttentionTeam);
            return run_attention(args, ways);
        case 2:
            return run_output(args, from_floats, ways);
        case 3:
            return;  // the router came with the output product
        case 4:
            return run_hidden(args, ways);
        default:
            return run_outputs(args, ways);
    }
}

void run_first(const BlockDecode::Args& args) {
    const BlockScratch scratch = scratch_of(args);
    FirstCall call = {};
    for (int i = 0; i < 2; ++i) {
        call.m[i] = device_matrix(args.first.m[static_cast<std::size_t>(i)], false);
        call.y[i] = args.first.y[static_cast<std::size_t>(i)];
    }
    call.first_block = call.m[0].rows / kGroup;
    call.n = static_cast<int>(args.shape.cols);
    call.eps = args.first.eps;
    call.x = args.first.x;
    call.norm = args.first.norm;
    if (args.handed) call.handed = scratch.x;
    call.squares = scratch.x_squares;
    if (args.shape.q_rank != 0) call.query_norm = args.attention.q_norm;
    call.query = scratch.query;
    call.out_squares[0] = scratch.query_squares;
    call.out_squares[1] = scratch.kv_squares;
    call.square_groups = static_cast<int>(args.shape.kv_rank) / kGroup;
    call.chosen = chosen_of(args);
    Size size;
    size.threads = kFirstThreads;
    size.blocks = (call.m[0].rows + call.m[1].rows) / kGroup;
    size.shared_bytes = handed_bytes(call.n) +
                        2 * static_cast<std::size_t>(std::max(chunk_bytes(call.m[0].form, call.n),
                                                              chunk_bytes(call.m[1].form, call.n)));
    if (call.m[0].form == Form::q4_0 && call.m[1].form == Form::q4_0) {
        launch(first_kernel<only(Form::q4_0)>, size, call);
    } else {
        launch(first_kernel<kAnyForm>, size, call);
    }
}

void run_output(const BlockDecode::Args& args, bool from_floats, const Ways& ways) {
    const BlockScratch scratch = scratch_of(args);
    OutputCall call = {};
    call.m = device_matrix(args.output.m[0], false);
    call.n = call.m.cols;
    if (from_floats) call.floats = args.output.x;
    call.handed = scratch.values;
    call.x = args.output.y[0];
    call.norm = args.experts.norm;
    call.ffn = scratch.ffn;
    call.squares = scratch.ffn_squares;
    call.router = reinterpret_cast<const float*>(args.experts.router.w);
    call.n_experts = static_cast<int>(args.shape.n_experts);
    call.logits = scratch.logits;
    Size size;
    size.threads = kOutputThreads;
    size.blocks = call.m.rows / kGroup;
    size.cluster = output_cluster(args.shape);
    size.shared_bytes =
        handed_bytes(call.n) + 2 * static_cast<std::size_t>(chunk_bytes(call.m.form, call.n));
    if (call.m.form == Form::q4_0) {
        if (ways.split) {
            size.threads *= 2;
            launch(output_kernel<only(Form::q4_0), 2>, size, call);
        } else {
            launch(output_kernel<only(Form::q4_0), 1>, size, call);
        }
    } else {
        launch(output_kernel<kAnyForm, 1>, size, call);
    }
}

}  // namespace steady::cuda
