// The attention deep in a text, in three kernels: queries head by head, then tiles of positions
// that all heads share by the tensor cores, so that the cache is read once and not once per head,
// then the tiles' sums joined head by head. Two phases more than one cluster per head, worth it
// from a few hundred positions on. Tiles that were cached before this token are on their way before
// its query is there.
#include <algorithm>

#include "kernels/mla_decode/head.h"
#include "kernels/mla_decode/tiles.h"

namespace steady::cuda {
namespace {

constexpr int kRank = 512, kRot = 64, kWidth = kRank + kRot;
constexpr int kTile = 32;            // positions
constexpr int kRows = 32;            // heads, filled up
constexpr int kStride = kWidth + 8;  // halves between rows, so that eight rows meet all banks
constexpr int kTileThreads = 256;

struct TilesCall {
    const __half* query;  // [n_heads][kWidth]
    const __half* cache;  // [positions][kWidth]
    const int* position;
    int n_heads;
    float scale;
    float* sums;  // [parts][n_heads][kRank]
    float* most;  // [parts][n_heads][2]
};

struct JoinCall {
    MlaCall head;
    int n_heads, parts;
    const float* sums;
    const float* most;
};

// The query in latent space, as halves, by the team of its head.
template <class U>
__global__ void __launch_bounds__(kThreads, 2)
    query_kernel(const __grid_constant__ MlaCall call, __half* query) {
    extern __shared__ uint4 memory[];
    let_consumers_start();
    const Team team = Team::own();
    const int widest = max(max(call.ranked ? call.query.n : 0, call.n_nope), call.latent.n);
    const Memory m = memory_at(reinterpret_cast<unsigned char*>(memory), widest,
                               call.n_nope + call.n_rot, call.latent.n + call.n_rot, call.latent.n);
    const int head = static_cast<int>(blockIdx.x) / team.size;
    const int head_size = call.n_nope + call.n_rot;
    HeadProduct<U, 4> q_b(call.q_b, head * head_size, call.ranked ? head_size : 0, team);
    HeadProduct<U, 2> k_b(call.k_b, head * kRank, kRank, team);
    const float4 weights = call.ranked ? first_weights(call.query) : float4{};
    if (call.ranked) q_b.ask();
    k_b.ask();
    wait_for_producers();
    const int position = __ldcg(call.position);
    if (call.ranked) {
        prepare(call.query, m.v, weights, m.parts);
    } else {
        for (int i = static_cast<int>(threadIdx.x); i < head_size; i += kThreads) {
            m.head[i] = __ldcg(call.q + head * head_size + i);
        }
    }
    make_row(call, m, position, blockIdx.x == 0);
    team.meet();
    if (call.ranked) {
        q_b.finish(m.v, [&](int row, float value, int lane, int lanes) {
            for (int b = lane; b < team.size; b += lanes) team.of(m.head, b)[row] = value;
        });
        team.meet();
    }
    take_vector(m.v, m.head, call.n_nope, !reads_floats(call.k_b));
    rotate(call, position, m.head + call.n_nope, m.query + kRank);
    __syncthreads();
    __half* out = query + head * kWidth;
    if (team.rank == 0 && threadIdx.x < kRot) {
        out[kRank + threadIdx.x] = __float2half_rn(m.query[kRank + threadIdx.x]);
    }
    k_b.finish(m.v, [&](int row, float value, int lane, int /*lanes*/) {
        if (lane == 0) out[row] = __float2half_rn(value);
    });
}

// What a block of tiles keeps.
struct TileMemory {
    __half query[kRows][kStride];
    __half rows[kTile][kStride];
    float scores[kRows][kTile + 4];
    __half weights[kRows][kTile + 8];
    float most[kRows], total[kRows], keep[kRows];
};

// Rows first … of the cache that are below `end`; the others become zeros.
__device__ void ask_for_rows(TileMemory& m, const __half* cache, int first, int begin, int end) {
    constexpr int kPieces = kWidth / 8;
    for (int i = static_cast<int>(threadIdx.x); i < kTile * kPieces; i += kTileThreads) {
        const int r = i / kPieces, c = i % kPieces * 8, t = first + r;
        if (t < begin) continue;
        if (t < end) {
            copy_ahead(&m.rows[r][c], cache + static_cast<long long>(t) * kWidth + c);
        } else {
            *reinterpret_cast<uint4*>(&m.rows[r][c]) = {0, 0, 0, 0};
        }
    }
}

__device__ void score_tile(TileMemory& m, int first, int position, float scale) {
    const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
    const int row = warp % 2 * 16, col = warp / 2 * 8;
    float c[4] = {};
#pragma unroll 6
    for (int k = 0; k < kWidth; k += 16) {
        unsigned a[4], b[2];
        load_a(a, &m.query[row + lane % 16][k + lane / 16 * 8]);
        load_b(b, &m.rows[col + lane % 8][k + lane / 8 % 2 * 8]);
        multiply<__half>(c, a, b);
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        const int r = row + lane / 4 + i / 2 * 8, t = col + lane % 4 * 2 + i % 2;
        m.scores[r][t] = first + t <= position ? c[i] * scale : -INFINITY;
    }
}

// Eight threads to a head: its scores to weights, against the largest so far.
__device__ void soften_tile(TileMemory& m) {
    const int r = static_cast<int>(threadIdx.x) / 8, part = static_cast<int>(threadIdx.x) % 8;
    const float4 s = *reinterpret_cast<const float4*>(&m.scores[r][4 * part]);
    float most = fmaxf(fmaxf(s.x, s.y), fmaxf(s.z, s.w));
#pragma unroll
    for (int step = 1; step < 8; step *= 2) {
        most = fmaxf(most, __shfl_xor_sync(0xFFFFFFFFU, most, step));
    }
    const float before = m.most[r];
    most = fmaxf(most, before);
    const float w[4] = {__expf(s.x - most), __expf(s.y - most), __expf(s.z - most),
                        __expf(s.w - most)};
    float total = w[0] + w[1] + w[2] + w[3];
#pragma unroll
    for (int step = 1; step < 8; step *= 2) total += __shfl_xor_sync(0xFFFFFFFFU, total, step);
#pragma unroll
    for (int i = 0; i < 4; ++i) m.weights[r][4 * part + i] = __float2half_rn(w[i]);
    __syncwarp();
    if (part != 0) return;
    const float keep = __expf(before - most);
    m.keep[r] = keep;
    m.total[r] = m.total[r] * keep + total;
    m.most[r] = most;
}

__global__ void __launch_bounds__(kTileThreads, 1)
    tiles_kernel(const __grid_constant__ TilesCall call) {
    extern __shared__ uint4 memory[];
    let_consumers_start();
    TileMemory& m = *reinterpret_cast<TileMemory*>(memory);
    const int t = static_cast<int>(threadIdx.x), lane = t % 32, warp = t / 32;
    // Neither the position nor the rows before it come from the kernel before this one.
    const int position = __ldcg(call.position);
    const int parts = static_cast<int>(gridDim.x);
    int first = static_cast<int>(blockIdx.x) * kTile;
    if (first <= position) ask_for_rows(m, call.cache, first, 0, position);
    if (t < kRows) {
        m.most[t] = -INFINITY;
        m.total[t] = 0;
    }
    wait_for_producers();
    if (first > position) return;
    for (int i = t; i < kRows * (kWidth / 8); i += kTileThreads) {
        const int r = i / (kWidth / 8), c = i % (kWidth / 8) * 8;
        if (r < call.n_heads) {
            copy_ahead(&m.query[r][c], call.query + r * kWidth + c);
        } else {
            *reinterpret_cast<uint4*>(&m.query[r][c]) = {0, 0, 0, 0};
        }
    }
    // ask_for_rows left a zero where this token's own row belongs.
    __syncthreads();
    if (position < first + kTile) {
        ask_for_rows(m, call.cache, first, position, position + 1);
    }
    float sums[2][8][4] = {};
    for (;; first += parts * kTile) {
        wait_for_copies();
        __syncthreads();
        score_tile(m, first, position, call.scale);
        __syncthreads();
        soften_tile(m);
        __syncthreads();
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            const float keep[2] = {m.keep[16 * half + lane / 4], m.keep[16 * half + lane / 4 + 8]};
#pragma unroll
            for (int n = 0; n < 8; ++n) {
#pragma unroll
                for (int i = 0; i < 4; ++i) sums[half][n][i] *= keep[i / 2];
            }
        }
#pragma unroll
        for (int k = 0; k < kTile; k += 16) {
            unsigned a[2][4];
            load_a(a[0], &m.weights[lane % 16][k + lane / 16 * 8]);
            load_a(a[1], &m.weights[16 + lane % 16][k + lane / 16 * 8]);
#pragma unroll
            for (int n = 0; n < 8; ++n) {
                unsigned b[2];
                load_b_turned(b, &m.rows[k + lane % 16][64 * warp + 8 * n]);
                multiply<__half>(sums[0][n], a[0], b);
                multiply<__half>(sums[1][n], a[1], b);
            }
        }
        if (first + parts * kTile > position) break;
        __syncthreads();
        ask_for_rows(m, call.cache, first + parts * kTile, 0, position + 1);
    }
    const long long part = blockIdx.x;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
#pragma unroll
        for (int n = 0; n < 8; ++n) {
#pragma unroll
            for (int i = 0; i < 4; i += 2) {
                const int head = 16 * half + lane / 4 + i / 2 * 8;
                if (head >= call.n_heads) continue;
                float* out = call.sums + (part * call.n_heads + head) * kRank + 64 * warp + 8 * n +
                             lane % 4 * 2;
                *reinterpret_cast<float2*>(out) = {sums[half][n][i], sums[half][n][i + 1]};
            }
        }
    }
    if (t < call.n_heads) {
        call.most[2 * (part * call.n_heads + t)] = m.most[t];
        call.most[2 * (part * call.n_heads + t) + 1] = m.total[t];
    }
}

// A head's sums over the parts, its columns dealt out to the team, then its values.
template <class U>
__global__ void __launch_bounds__(kThreads, 2) join_kernel(const __grid_constant__ JoinCall call) {
    extern __shared__ uint4 memory[];
    __shared__ float weight[kDeepParts];
    let_consumers_start();
    const MlaCall& head_call = call.head;
    const Team team = Team::own();
    const int widest = max(max(head_call.ranked ? head_call.query.n : 0, head_call.n_nope), kRank);
    const Memory m = memory_at(reinterpret_cast<unsigned char*>(memory), widest,
                               head_call.n_nope + head_call.n_rot, kWidth, kRank);
    const int head = static_cast<int>(blockIdx.x) / team.size;
    HeadProduct<U, 2> v_b(head_call.v_b, head * head_call.n_value, head_call.n_value, team);
    v_b.ask();
    wait_for_producers();
    const int t = static_cast<int>(threadIdx.x);
    const int position = __ldcg(head_call.position);
    const int parts = min(call.parts, position / kTile + 1);
    const auto of_part = [&](int p) {
        return __ldcg(reinterpret_cast<const float2*>(call.most) + p * call.n_heads + head);
    };
    float most = -INFINITY;
    for (int p = t % 32; p < parts; p += 32) most = fmaxf(most, of_part(p).x);
    most = warp_largest(most);
    float total = 0;
    for (int p = t % 32; p < parts; p += 32) {
        const float2 own = of_part(p);
        const float w = __expf(own.x - most);
        total += w * own.y;
        if (t < 32) weight[p] = w;
    }
    total = warp_sum(total);
    __syncthreads();
    const int columns = kRank / team.size, at_once = kThreads / columns;
    const int column = team.rank * columns + t % columns;
    float sum = 0;
    for (int p = t / columns; p < parts; p += at_once) {
        sum +=
            weight[p] *
            __ldcg(call.sums + (static_cast<long long>(p) * call.n_heads + head) * kRank + column);
    }
    m.sums[t] = sum;
    __syncthreads();
    // Nobody writes into a block that has not begun.
    team.meet();
    if (t < columns) {
        float all = 0;
        for (int i = 0; i < at_once; ++i) all += m.sums[i * columns + t];
        for (int b = 0; b < team.size; ++b) team.of(m.query, b)[column] = all / total;
    }
    team.meet();
    take_vector(m.v, m.query, kRank, !reads_floats(head_call.v_b));
    __syncthreads();
    v_b.finish(m.v, [&](int row, float value, int lane, int /*lanes*/) {
        if (lane == 0) head_call.out[head * head_call.n_value + row] = value;
    });
}

}  // namespace

bool deep_fits(const MlaDecode::Args& args) {
    const MlaDecodeShape& s = args.shape;
    const auto q4_0 = [](const AnyMatrix& m) { return !m.present() || m.type == Type::q4_0; };
    return args.scratch != nullptr && s.folded == 0 && s.cache == Type::f16 && s.kv_rank == kRank &&
           s.n_rot == kRot && s.n_heads <= kRows && q4_0(args.q_b) && q4_0(args.k_b) &&
           q4_0(args.v_b);
}

DeepScratch deep_scratch(const MlaDecode::Args& args) {
    const std::int64_t n_heads = args.shape.n_heads;
    float* sums = args.scratch + n_heads * kWidth;
    return {args.scratch, sums, sums + kDeepParts * n_heads * kRank};
}

void run_deep_query(const MlaDecode::Args& args, int cluster) {
    Size size;
    size.threads = kThreads;
    size.cluster = cluster;
    size.blocks = static_cast<int>(args.shape.n_heads) * cluster;
    size.shared_bytes = memory_of(args.shape);
    launch(query_kernel<Unit<Form::q4_0>>, size, call_of(args, false),
           static_cast<__half*>(deep_scratch(args).query));
}

void run_deep(const MlaDecode::Args& args, int cluster) {
    const int n_heads = static_cast<int>(args.shape.n_heads);
    const DeepScratch scratch = deep_scratch(args);
    run_deep_query(args, cluster);
    const TilesCall tiles = {static_cast<const __half*>(scratch.query),
                             reinterpret_cast<const __half*>(args.cache),
                             args.position,
                             n_heads,
                             args.scale,
                             scratch.sums,
                             scratch.most};
    Size of_tiles;
    of_tiles.threads = kTileThreads;
    of_tiles.blocks = kDeepParts;
    of_tiles.shared_bytes = sizeof(TileMemory);
    launch(tiles_kernel, of_tiles, tiles);
    const JoinCall join = {call_of(args, false), n_heads, kDeepParts, scratch.sums, scratch.most};
    Size of_join;
    of_join.threads = kThreads;
    of_join.cluster = cluster;
    of_join.blocks = n_heads * cluster;
    of_join.shared_bytes = memory_of(args.shape);
    launch(join_kernel<Unit<Form::q4_0>>, of_join, join);
}

}  // namespace steady::cuda
