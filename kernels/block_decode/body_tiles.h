// The attention of a block deep in a text, where all heads share tiles of the cache by the tensor
// cores, in three kernels that hand each other what they make: queries in latent space, head by
// head; tiles of positions, whose blocks join their sums in clusters of eight, so that few parts
// are left; then each block joins the parts of its head and makes its share of the head's values.
// The tiles that were cached before this token, and all weights, are on their way before the query.
// For .cu files alone.
#pragma once

#include <algorithm>

#include "kernels/block_decode/query.h"
#include "kernels/mla_decode/tiles.h"

namespace steady::cuda {

constexpr int kRank = kKnownRank, kWidth = kKnownRank + kKnownRot;
constexpr int kTile = 48;            // positions that a block takes at once
constexpr int kHeads = 32;           // filled up
constexpr int kStride = kWidth + 8;  // values between rows, so that eight rows meet all banks
constexpr int kSumStride = kRank + 8;
constexpr int kTileBlocks = 144;
constexpr int kParts = kTileBlocks / kAttentionTeam;
[[maybe_unused]] constexpr int kGroups =
    kThreads / (kRank / 8);  // of threads that join a head's parts

struct TilesCall {
    const unsigned char* query;  // [n_heads][kWidth] of the cache's type
    const unsigned char* cache;  // [positions][kWidth]
    const int* position;
    int n_heads;
    float scale;
    unsigned char* sums;  // [kParts][n_heads][kRank] over their totals, of the cache's type
    float* most;          // [kParts][n_heads][2]: largest score, Σ e^(score − largest)
    bool late;
};

struct JoinCall {
    AttentionCall attention;
    int n_heads;
    const unsigned char* sums;
    const float* most;
};

// What a block of tiles keeps, little enough for two blocks of a multiprocessor: clusters of eight
// do not fill all multiprocessors one by one. Sums take the place of the query and rows at the end.
template <class T>
struct TileMemory {
    T query[kHeads][kStride];
    T rows[kTile][kStride];
    float scores[2][kHeads][kTile + 4];  // of either half of a row
    T weights[kHeads][kTile + 8];
    float most[kHeads], total[kHeads], keep[kHeads];
    float2 of_team[kAttentionTeam][kHeads];  // most and total, from every block of the cluster
};
static_assert(kSumStride <= kStride);
static_assert(2 * (sizeof(TileMemory<__half>) + 1024) <= 228 * 1024);

#ifdef __CUDACC__
#if __CUDA_ARCH__ >= 900

constexpr int kPieces = kWidth / 8;  // of 16 bytes, of a row

// `n` rows of kWidth values to rows of shared memory, those from `valid` on zeros.
template <bool kOnce, class T>
__device__ void ask_for_rows(T (*to)[kStride], const T* from, int n, int valid) {
    for (int i = static_cast<int>(threadIdx.x); i < n * kPieces; i += kThreads) {
        const int r = i / kPieces, c = i % kPieces * 8;
        if (r < valid) {
            const T* at = from + static_cast<long long>(r) * kWidth + c;
            kOnce ? copy_once(&to[r][c], at) : copy_ahead(&to[r][c], at);
        } else {
            *reinterpret_cast<uint4*>(&to[r][c]) = {0, 0, 0, 0};
        }
    }
}

// Scores of `n` rows, a multiple of sixteen: a warp takes sixteen heads, every other sixteen rows
// and half of their width.
template <class T>
__device__ void score_tile(TileMemory<T>& m, int n) {
    const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
    const int row = warp % 2 * 16, half = warp / 2 % 2;
    for (int col = warp / 4 * 16; col < n; col += 32) {
        float c[2][4] = {};
#pragma unroll 6
        for (int k = half * (kWidth / 2); k < (half + 1) * (kWidth / 2); k += 16) {
            unsigned a[4], b[4];
            load_a(a, &m.query[row + lane % 16][k + lane / 16 * 8]);
            load_a(b, &m.rows[col + lane % 8 + lane / 16 * 8][k + lane / 8 % 2 * 8]);
            multiply<T>(c[0], a, {b[0], b[1]});
            multiply<T>(c[1], a, {b[2], b[3]});
        }
#pragma unroll
        for (int j = 0; j < 2; ++j) {
            float* at = &m.scores[half][row + lane / 4][col + 8 * j + lane % 4 * 2];
            *reinterpret_cast<float2*>(at) = {c[j][0], c[j][1]};
            *reinterpret_cast<float2*>(at + 8 * (kTile + 4)) = {c[j][2], c[j][3]};
        }
    }
}

// Eight threads to a head, eight scores each, of which the first `valid` count: to weights, against
// the largest so far.
template <class T>
__device__ void soften_tile(TileMemory<T>& m, int n, int valid, float scale) {
    const int r = static_cast<int>(threadIdx.x) / 8, part = static_cast<int>(threadIdx.x) % 8;
    float s[8], most = -INFINITY, total = 0;
#pragma unroll
    for (int i = 0; i < 8; ++i) {
        const int p = 8 * part + i;
        s[i] = p < valid ? (m.scores[0][r][p] + m.scores[1][r][p]) * scale : -INFINITY;
        most = fmaxf(most, s[i]);
    }
#pragma unroll
    for (int step = 1; step < 8; step *= 2) {
        most = fmaxf(most, __shfl_xor_sync(0xFFFFFFFFU, most, step));
    }
    const float before = m.most[r];
    most = fmaxf(most, before);
#pragma unroll
    for (int i = 0; i < 8; ++i) {
        const float w = __expf(s[i] - most);
        total += w;
        if (8 * part < n) m.weights[r][8 * part + i] = narrow<T>(w);
    }
#pragma unroll
    for (int step = 1; step < 8; step *= 2) total += __shfl_xor_sync(0xFFFFFFFFU, total, step);
    __syncwarp();
    if (part != 0) return;
    const float keep = __expf(before - most);
    m.keep[r] = keep;
    m.total[r] = m.total[r] * keep + total;
    m.most[r] = most;
}

// A warp's 64 columns of all heads' sums.
using Sums = float[2][8][4];

template <class T>
__device__ void add_tile(Sums& sums, const TileMemory<T>& m, int n) {
    const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
        const float keep[2] = {m.keep[16 * half + lane / 4], m.keep[16 * half + lane / 4 + 8]};
#pragma unroll
        for (int c = 0; c < 8; ++c) {
#pragma unroll
            for (int i = 0; i < 4; ++i) sums[half][c][i] *= keep[i / 2];
        }
    }
#pragma unroll 1
    for (int k = 0; k < n; k += 16) {
        unsigned a[2][4];
        load_a(a[0], &m.weights[lane % 16][k + lane / 16 * 8]);
        load_a(a[1], &m.weights[16 + lane % 16][k + lane / 16 * 8]);
#pragma unroll
        for (int c = 0; c < 8; c += 2) {
            unsigned b[4];
            load_turned(b, &m.rows[k + lane % 16][64 * warp + 8 * c + lane / 16 * 8]);
#pragma unroll
            for (int half = 0; half < 2; ++half) {
                multiply<T>(sums[half][c], a[half], {b[0], b[1]});
                multiply<T>(sums[half][c + 1], a[half], {b[2], b[3]});
            }
        }
    }
}

// Eight values of the cache's type.
template <class T>
__device__ void add_eight(float (&sum)[8], const uint4& bits, float share) {
    const unsigned words[4] = {bits.x, bits.y, bits.z, bits.w};
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        float2 v;
        if constexpr (std::is_same_v<T, __half>) {
            v = __half22float2(*reinterpret_cast<const __half2*>(&words[i]));
        } else {
            v = {__uint_as_float(words[i] << 16), __uint_as_float(words[i] & 0xFFFF0000U)};
        }
        sum[2 * i] += share * v.x;
        sum[2 * i + 1] += share * v.y;
    }
}

// A cluster's sums over its totals, as the cache's values are, since they lie among them: columns
// are dealt out to the blocks, each of which reads its own from all.
template <class T>
__device__ void join_tiles(TileMemory<T>& m, const TilesCall& call, const Sums& sums, int block) {
    const Team team = Team::own();
    const int t = static_cast<int>(threadIdx.x), lane = t % 32, warp = t / 32;
    // In the place of the query.
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        const int head = 8 * i + lane / 4;
        const float total = m.total[head], part = total > 0 ? 1.0F / total : 0.0F;
#pragma unroll
        for (int c = 0; c < 8; ++c) {
            const float* sum = sums[i / 2][c] + i % 2 * 2;
            put_two(&m.query[head][64 * warp + 8 * c + lane % 4 * 2],
                    {sum[0] * part, sum[1] * part});
        }
    }
    // A warp tells one block.
    static_assert(kWarps == kAttentionTeam && kHeads == 32);
    float* told = team.of(reinterpret_cast<float*>(&m.of_team[team.rank][lane]), warp);
    *reinterpret_cast<float2*>(told) = {m.most[lane], m.total[lane]};
    team.meet();
    constexpr int kEights = kRank / kAttentionTeam / 8;
    static_assert(kHeads * kEights <= kThreads);
    if (t < call.n_heads * kEights) {
        const int head = t / kEights, column = (team.rank * kEights + t % kEights) * 8;
        auto* at = reinterpret_cast<float*>(&m.query[head][column]);
        uint4 v[kAttentionTeam];
#pragma unroll
        for (int b = 0; b < kAttentionTeam; ++b) {
            v[b] = *reinterpret_cast<const uint4*>(team.of(at, b));
        }
        float most = -INFINITY, total = 0, sum[8] = {};
#pragma unroll
        for (int b = 0; b < kAttentionTeam; ++b) most = fmaxf(most, m.of_team[b][head].x);
#pragma unroll
        for (int b = 0; b < kAttentionTeam; ++b) {
            const float2 of = m.of_team[b][head];
            const float share = of.x == -INFINITY ? 0.0F : __expf(of.x - most) * of.y;
            total += share;
            add_eight<T>(sum, v[b], share);
        }
        const float part = total > 0 ? 1.0F / total : 0.0F;
        const int row = block / kAttentionTeam * call.n_heads + head;
        __align__(16) T out[8];
#pragma unroll
        for (int i = 0; i < 8; ++i) out[i] = narrow<T>(sum[i] * part);
        *reinterpret_cast<uint4*>(reinterpret_cast<T*>(call.sums) +
                                  static_cast<long long>(row) * kRank + column) =
            *reinterpret_cast<const uint4*>(out);
        if (column == 0) reinterpret_cast<float2*>(call.most)[row] = {most, total};
    }
    team.meet();  // nobody leaves while others read its sums
}

#endif

template <class T>
struct TilesBody {
    using Call = TilesCall;
    static constexpr int kThreads = cuda::kThreads, kBlocks = 2, kArrivals = 0;
    struct Kept {};

    template <class Place>
    __device__ __forceinline__ static void run(const Call& call, Kept& /*kept*/, uint4* memory,
                                               const Place& place) {
#if __CUDA_ARCH__ >= 900
        if (!call.late) place.let_consumers_start();
        auto& m = *reinterpret_cast<TileMemory<T>*>(memory);
        const int t = static_cast<int>(threadIdx.x);
        const auto* query = reinterpret_cast<const T*>(call.query);
        const auto* cache = reinterpret_cast<const T*>(call.cache);
        // Neither the position nor the rows before it come from the kernel before this one.
        const int position = __ldcg(call.position);
        const int each = position / kTileBlocks + 1;
        const int begin = place.block() * each, end = min(begin + each, position + 1);
        const auto rows_at = [&](int first) { return min(kTile, (end - first + 15) / 16 * 16); };
        if (begin < end) {
            ask_for_rows<true>(m.rows, cache + static_cast<long long>(begin) * kWidth,
                               rows_at(begin), min(end, position) - begin);
        }
        if (t < kHeads) {
            m.most[t] = -INFINITY;
            m.total[t] = 0;
        }
        arrive_in_cluster();
        place.wait();
        if (call.late) place.let_consumers_start();
        Sums sums = {};
        if (begin < end) {
            ask_for_rows<false>(m.query, query, kHeads, call.n_heads);
            // This token's own row, where ask_for_rows left zeros.
            __syncthreads();
            if (position < begin + kTile && position < end && t < kPieces) {
                copy_ahead(&m.rows[position - begin][8 * t],
                           cache + static_cast<long long>(position) * kWidth + 8 * t);
            }
#pragma unroll 1
            for (int first = begin; first < end; first += kTile) {
                const int n = rows_at(first);
                if (first != begin) {
                    __syncthreads();
                    ask_for_rows<true>(m.rows, cache + static_cast<long long>(first) * kWidth, n,
                                       end - first);
                }
                wait_for_copies();
                __syncthreads();
                score_tile(m, n);
                __syncthreads();
                soften_tile(m, n, min(n, end - first), call.scale);
                __syncthreads();
                add_tile(sums, m, n);
            }
        }
        __syncthreads();
        wait_in_cluster();  // nobody writes into a block that has not begun
        join_tiles(m, call, sums, place.block());
#endif
    }
};

// The parts' sums of a head, in every block of the head that makes a share of its values.
template <class T, bool kAllQ4>
struct JoinBody {
    using Call = JoinCall;
    static constexpr int kThreads = cuda::kThreads, kBlocks = 4, kArrivals = 1;
    struct Kept {
        Arrival arrivals[1];
        alignas(16) float values[kUnit];
        alignas(16) float groups[kGroups][kRank];
    };

    template <class Place>
    __device__ __forceinline__ static void run(const Call& call, Kept& kept, uint4* memory,
                                               const Place& place) {
#if __CUDA_ARCH__ >= 900
        Arrival& arrival = kept.arrivals[0];
        float* values = kept.values;
        auto& groups = kept.groups;
        if (!call.attention.late) place.let_consumers_start();
        const AttentionCall& c = call.attention;
        const MlaCall& h = c.head;
        const int t = static_cast<int>(threadIdx.x), lane = t % 32;
        const int head = place.block() / kAttentionTeam;
        const int share = place.block() % kAttentionTeam;
        const Handed x = handed_at(memory, kRank);
        auto* v_rows = reinterpret_cast<unsigned char*>(memory) + handed_bytes(kRank);
        if (t == 0) {
            make_arrivals(&arrival, 1);
            expect(&arrival, v_bytes_of(c));
            ask_rows(v_rows, h.v_b, static_cast<long long>(head) * h.n_value + share * v_rows_of(c),
                     v_rows_of(c), &arrival);
        }
        const int position = __ldcg(h.position);
        const int each = (position / kTileBlocks + 1) * kAttentionTeam;
        const int parts = (position + each) / each;  // clusters that had positions
        constexpr int kEach = (kParts + kGroups - 1) / kGroups;
        static_assert(kParts <= 32);
        place.wait();
        if (c.late) place.let_consumers_start();
        // A thread reads eight columns of its group's parts, all at once.
        const int eight = t % (kRank / 8), group = t / (kRank / 8);
        uint4 v[kEach];
#pragma unroll
        for (int i = 0; i < kEach; ++i) {
            const int p = i * kGroups + group;
            v[i] = {0, 0, 0, 0};
            if (p < parts) {
                const long long row = static_cast<long long>(p) * call.n_heads + head;
                v[i] =
                    __ldcg(reinterpret_cast<const uint4*>(call.sums) + row * (kRank / 8) + eight);
            }
        }
        float2 of = {-INFINITY, 0};
        if (lane < parts) {
            of = __ldcg(reinterpret_cast<const float2*>(call.most) + lane * call.n_heads + head);
        }
        const float most = warp_largest(of.x);
        const float own = of.x == -INFINITY ? 0.0F : __expf(of.x - most) * of.y;
        const float weight = own / warp_sum(own);
        float sum[8] = {};
#pragma unroll
        for (int i = 0; i < kEach; ++i) {
            add_eight<T>(sum, v[i], __shfl_sync(0xFFFFFFFFU, weight, min(i * kGroups + group, 31)));
        }
        *reinterpret_cast<float4*>(&groups[group][8 * eight]) = {sum[0], sum[1], sum[2], sum[3]};
        *reinterpret_cast<float4*>(&groups[group][8 * eight + 4]) = {sum[4], sum[5], sum[6],
                                                                     sum[7]};
        __syncthreads();
        if (t < kRank / 4) {
            float4 all = {0, 0, 0, 0};
#pragma unroll
            for (int g = 0; g < kGroups; ++g) {
                const float4 one = *reinterpret_cast<const float4*>(&groups[g][4 * t]);
                all = {all.x + one.x, all.y + one.y, all.z + one.z, all.w + one.w};
            }
            put_four(x, t, all, true);
        }
        __syncthreads();
        make_values<kAllQ4>(c, v_rows, x, head, call.n_heads, share, values, &arrival);
#endif
    }
};

#endif

}  // namespace steady::cuda
