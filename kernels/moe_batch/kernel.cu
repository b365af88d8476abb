// The small steps of a batch's experts on a GPU. The order of an expert's places is that of the
// tokens, whatever runs first, so that every run gives the same bits.
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

constexpr int kSortWarps = 32;

// Each warp has a stretch of the places' list: it counts how many of each expert it meets, learns
// where its first of each goes, and meets them again. A warp's lanes find those of equal expert.
template <class Meet>
__device__ void each_of_stretch(const SortCall& call, int* counts, Meet meet) {
    const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
    const int stretch = (call.slots + 32 * kSortWarps - 1) / (32 * kSortWarps) * 32;
    const int end = min(call.slots, (warp + 1) * stretch);
    for (int s = warp * stretch; s < end; s += 32) {
        const bool present = s + lane < end;
        const int e = present ? __ldcg(call.ids + s + lane) : -1;
        const unsigned alike = __match_any_sync(0xFFFFFFFFU, e);
        const int before = __popc(alike & ((1U << lane) - 1));
        if (present) meet(s + lane, e, counts[warp * call.n_experts + e] + before);
        __syncwarp();
        if (present && before == 0) counts[warp * call.n_experts + e] += __popc(alike);
        __syncwarp();
    }
}

__global__ void __launch_bounds__(32 * kSortWarps)
    sort_kernel(const __grid_constant__ SortCall call) {
    extern __shared__ int counts[];  // [kSortWarps][n_experts], then of all [n_experts + 1]
    let_consumers_start();
    wait_for_producers();
    const int n = call.n_experts, thread = static_cast<int>(threadIdx.x);
    int* first = counts + kSortWarps * n;
    for (int i = thread; i < kSortWarps * n; i += 32 * kSortWarps) counts[i] = 0;
    __syncthreads();
    each_of_stretch(call, counts, [](int, int, int) {});
    __syncthreads();
    for (int e = thread; e < n; e += 32 * kSortWarps) {
        int all = 0;
        for (int w = 0; w < kSortWarps; ++w) {
            const int own = counts[w * n + e];
            counts[w * n + e] = all;
            all += own;
        }
        first[e + 1] = all;
    }
    __syncthreads();
    if (thread < 32) {  // sums over the experts before, 32 at a time
        int places = 0, tiles = 0;
        for (int base = 0; base < n; base += 32) {
            const int e = base + thread;
            const int own = e < n ? first[e + 1] : 0;
            const int own_tiles = (own + call.to.tile - 1) / call.to.tile;
            int sum = own, sum_tiles = own_tiles;
            for (int step = 1; step < 32; step *= 2) {
                const int other = __shfl_up_sync(0xFFFFFFFFU, sum, step);
                const int other_tiles = __shfl_up_sync(0xFFFFFFFFU, sum_tiles, step);
                sum += thread >= step ? other : 0;
                sum_tiles += thread >= step ? other_tiles : 0;
            }
            const int begin = places + sum - own, tile = tiles + sum_tiles - own_tiles;
            if (e < n) {
                first[e] = begin;
                call.to.first[e] = begin;
                for (int i = 0; i < own_tiles; ++i) {
                    call.to.tiles[2 * (tile + i)] = e;
                    call.to.tiles[2 * (tile + i) + 1] = begin + i * call.to.tile;
                }
            }
            places += __shfl_sync(0xFFFFFFFFU, sum, 31);
            tiles += __shfl_sync(0xFFFFFFFFU, sum_tiles, 31);
        }
        if (thread == 0) {
            call.to.first[n] = places;
            *call.to.n_tiles = tiles;
        }
    }
    __syncthreads();
    each_of_stretch(call, counts, [&](int slot, int e, int rank) {
        call.to.token[first[e] + rank] = slot / call.n_used;
        call.to.place[slot] = first[e] + rank;
    });
}

struct AddCall {
    float* x;
    const float* outputs;
    const float* weights;
    const int* place;
    int cols, n_used;
};

// Four experts' values of a column are asked for at once.
__global__ void add_kernel(const __grid_constant__ AddCall call) {
    extern __shared__ float weight[];  // [n_used], then places
    let_consumers_start();
    wait_for_producers();
    const long long token = blockIdx.x;
    auto* place = reinterpret_cast<int*>(weight + call.n_used);
    const int begin = static_cast<int>(threadIdx.x), threads = static_cast<int>(blockDim.x);
    for (int k = begin; k < call.n_used; k += threads) {
        weight[k] = __ldcg(call.weights + token * call.n_used + k);
        place[k] = __ldcg(call.place + token * call.n_used + k);
    }
    __syncthreads();
    for (int c = begin; c < call.cols; c += threads) {
        float sum = __ldcg(call.x + token * call.cols + c);
        for (int first = 0; first < call.n_used; first += 4) {
            float value[4];
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                const long long row = place[min(first + i, call.n_used - 1)];
                value[i] = __ldcg(call.outputs + row * call.cols + c);
            }
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                if (first + i < call.n_used) sum += weight[first + i] * value[i];
            }
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
    sorted.most =
        static_cast<int>(std::min(s.n * s.n_used, s.n_experts) + s.n * s.n_used / sorted.tile);
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
    size.threads = 32 * kSortWarps;
    size.shared_bytes = static_cast<std::size_t>(4 * ((kSortWarps + 1) * s.n_experts + 1));
    launch(sort_kernel, size, call);
}

void add_experts(const MoeBatch::Args& args, const Sorted& sorted, const float* outputs) {
    const AddCall call = {args.first.x,
                          outputs,
                          args.first.weights,
                          sorted.place,
                          static_cast<int>(args.shape.cols),
                          static_cast<int>(args.shape.n_used)};
    Size size;
    size.blocks = static_cast<int>(args.shape.n);
    size.threads = 256;
    size.shared_bytes = static_cast<std::size_t>(8 * call.n_used);
    launch(add_kernel, size, call);
}

}  // namespace steady::cuda
