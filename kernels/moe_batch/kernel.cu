// The small steps of a batch's experts on a GPU. Sorting counts with ballots, a warp to an expert:
// the order of places is that of the tokens, whatever runs first, so that every run gives the same
// bits.
#include <algorithm>

#include "kernels/moe_batch/cuda.h"

namespace steady::cuda {
namespace {

struct ChooseCall {
    const float* logits;
    const float* bias;
    int n_experts, n_used;
    bool sigmoid, normalise;
    float scale, smallest_sum;
    int* ids;
    float* weights;
};

// A block of 64 threads takes a token.
__global__ void choose_kernel(const __grid_constant__ ChooseCall call) {
    extern __shared__ float scores[];  // [n_experts], then probabilities
    __shared__ float parts[2][32];
    __shared__ float chosen;
    let_consumers_start();
    wait_for_producers();
    const int t = static_cast<int>(threadIdx.x), threads = static_cast<int>(blockDim.x);
    const int n = call.n_experts;
    const float* logits = call.logits + static_cast<long long>(blockIdx.x) * n;
    int* ids = call.ids + static_cast<long long>(blockIdx.x) * call.n_used;
    float* weights = call.weights + static_cast<long long>(blockIdx.x) * call.n_used;
    float* probability = scores + n;
    float largest = -INFINITY;
    for (int e = t; e < n; e += threads) largest = fmaxf(largest, __ldcg(logits + e));
    largest = warp_largest(largest);
    if (t % 32 == 0) parts[0][t / 32] = largest;
    if (t == 0) chosen = 0;
    if (t < call.n_used) ids[t] = t;  // whatever the logits are, ids are experts
    __syncthreads();
    largest = fmaxf(parts[0][0], parts[0][1]);
    float total = 0;
    for (int e = t; e < n; e += threads) {
        const float logit = __ldcg(logits + e);
        probability[e] = call.sigmoid ? 1.0F / (1.0F + expf(-logit)) : expf(logit - largest);
        total += probability[e];
    }
    total = call.sigmoid ? 1.0F : block_sum(total, parts[1]);
    for (int e = t; e < n; e += threads) {
        probability[e] /= total;
        scores[e] = probability[e] + (call.bias != nullptr ? __ldg(call.bias + e) : 0.0F);
    }
    __syncthreads();
    for (int e = t; e < n; e += threads) {
        const float own = scores[e];
        int place = 0;
        for (int o = 0; o < n; ++o) {
            const float other = scores[o];
            place += other > own || (other == own && o < e) ? 1 : 0;
        }
        if (place < call.n_used) ids[place] = e;
    }
    __syncthreads();
    if (t == 0) {
        float sum = 0;
        for (int k = 0; k < call.n_used; ++k) sum += probability[ids[k]];
        chosen = call.normalise ? call.scale / fmaxf(sum, call.smallest_sum) : call.scale;
    }
    __syncthreads();
    for (int k = t; k < call.n_used; k += threads) weights[k] = probability[ids[k]] * chosen;
}

struct SortCall {
    const int* ids;
    int slots, n_used, n_experts;
    Sorted to;
};

constexpr int kSortThreads = 1024;

__global__ void __launch_bounds__(kSortThreads) sort_kernel(const __grid_constant__ SortCall call) {
    extern __shared__ int first[];  // [n_experts + 1], then tiles
    let_consumers_start();
    wait_for_producers();
    const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
    int* first_tile = first + call.n_experts + 1;
    for (int e = warp; e < call.n_experts; e += kSortThreads / 32) {
        int n = 0;
        for (int s = 0; s < call.slots; s += 32) {
            const bool own = s + lane < call.slots && __ldcg(call.ids + s + lane) == e;
            n += __popc(__ballot_sync(0xFFFFFFFFU, own));
        }
        if (lane == 0) first[e + 1] = n;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        int tiles = 0;
        first[0] = 0;
        for (int e = 0; e < call.n_experts; ++e) {
            first_tile[e] = tiles;
            tiles += (first[e + 1] + call.to.tile - 1) / call.to.tile;
            first[e + 1] += first[e];
        }
        *call.to.n_tiles = tiles;
    }
    __syncthreads();
    for (int e = static_cast<int>(threadIdx.x); e <= call.n_experts; e += kSortThreads) {
        call.to.first[e] = first[e];
    }
    for (int e = warp; e < call.n_experts; e += kSortThreads / 32) {
        for (int i = lane; first[e] + i * call.to.tile < first[e + 1]; i += 32) {
            call.to.tiles[2 * (first_tile[e] + i)] = e;
            call.to.tiles[2 * (first_tile[e] + i) + 1] = first[e] + i * call.to.tile;
        }
        int at = first[e];
        for (int s = 0; s < call.slots; s += 32) {
            const bool own = s + lane < call.slots && __ldcg(call.ids + s + lane) == e;
            const unsigned all = __ballot_sync(0xFFFFFFFFU, own);
            if (own) {
                const int place = at + __popc(all & ((1U << lane) - 1));
                call.to.token[place] = (s + lane) / call.n_used;
                call.to.place[s + lane] = place;
            }
            at += __popc(all);
        }
    }
}

struct AddCall {
    float* x;
    const float* outputs;
    const float* weights;
    const int* place;
    int cols, n_used;
};

__global__ void add_kernel(const __grid_constant__ AddCall call) {
    let_consumers_start();
    wait_for_producers();
    const long long token = blockIdx.x;
    for (int c = static_cast<int>(threadIdx.x); c < call.cols; c += static_cast<int>(blockDim.x)) {
        float sum = __ldcg(call.x + token * call.cols + c);
        for (int k = 0; k < call.n_used; ++k) {
            const long long place = __ldcg(call.place + token * call.n_used + k);
            sum += __ldcg(call.weights + token * call.n_used + k) *
                   __ldcg(call.outputs + place * call.cols + c);
        }
        call.x[token * call.cols + c] = sum;
    }
}

}  // namespace

void choose_experts(const MoeBatch::Args& args) {
    const MoeBatchShape& s = args.shape;
    const MoeDecode::Args& first = args.first;
    const ChooseCall call = {first.logits,
                             first.bias,
                             static_cast<int>(s.n_experts),
                             static_cast<int>(s.n_used),
                             first.gating == Gating::sigmoid,
                             first.normalise,
                             first.scale == 0 ? 1.0F : first.scale,
                             MoeRouter::kSmallestSum,
                             first.ids,
                             first.weights};
    Size size;
    size.blocks = static_cast<int>(s.n);
    size.threads = 64;
    size.shared_bytes = static_cast<std::size_t>(8 * s.n_experts);
    launch(choose_kernel, size, call);
}

Sorted room_for_places(Room& room, const MoeBatchShape& s) {
    Sorted sorted = {};
    sorted.tile = tile_vectors(s.n * s.n_used / s.n_experts);
    sorted.most = static_cast<int>(std::min(s.n * s.n_used, s.n_experts) +
                                   s.n * s.n_used / sorted.tile);
    sorted.first = room.take<int>(s.n_experts + 1);
    sorted.token = room.take<int>(s.n * s.n_used);
    sorted.place = room.take<int>(s.n * s.n_used);
    sorted.tiles = room.take<int>(2 * sorted.most);
    sorted.n_tiles = room.take<int>(1);
    return sorted;
}

void sort_tokens(const MoeBatch::Args& args, const Sorted& sorted) {
    const MoeBatchShape& s = args.shape;
    const SortCall call = {args.first.ids, static_cast<int>(s.n * s.n_used),
                           static_cast<int>(s.n_used), static_cast<int>(s.n_experts), sorted};
    Size size;
    size.threads = kSortThreads;
    size.shared_bytes = static_cast<std::size_t>(4 * (2 * s.n_experts + 2));
    launch(sort_kernel, size, call);
}

void add_experts(const MoeBatch::Args& args, const Sorted& sorted, const float* outputs) {
    const AddCall call = {args.first.x, outputs, args.first.weights, sorted.place,
                          static_cast<int>(args.shape.cols), static_cast<int>(args.shape.n_used)};
    Size size;
    size.blocks = static_cast<int>(args.shape.n);
    size.threads = 256;
    launch(add_kernel, size, call);
}

}  // namespace steady::cuda
