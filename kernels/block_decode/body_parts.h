// The second and third step of attention deep in a text, behind body_query.h, without a meeting of
// the blocks that share the positions: each hands on its own sums, a part. A block of the values
// takes 64 of the latent's columns from all parts, which is as much as all columns of few parts,
// multiplies them with its columns of the head's values, and a head's eight blocks send each other
// what they got. Most loops are not unrolled: with half as many instructions the model was 1 %
// faster. For .cu files alone.
#pragma once

#include "kernels/block_decode/body_tiles.h"

namespace steady::cuda {

constexpr int kPartBlocks = 132;  // as many as an H100 or H200 has multiprocessors
constexpr int kColumns = kRank / kAttentionTeam;
constexpr int kPartStride = kColumns + 8;  // values between heads, so that eight meet all banks
constexpr int kPartsAtOnce = kThreads / (kColumns / 8);
constexpr int kPartLoads = (kPartBlocks + kPartsAtOnce - 1) / kPartsAtOnce;
constexpr int kMostValueRows = kThreads / kAttentionTeam;  // of a block
static_assert(kColumns == 64 && kWarps == kAttentionTeam);

struct PartsCall {
    const unsigned char* query;  // of the cache's type, as place_in_pieces() says
    const unsigned char* cache;  // [positions][kWidth]
    const int* position;
    int n_heads;
    float scale;
    // [n_heads][kRank / kColumns][kPartBlocks][kColumns] over their totals, of the cache's type
    unsigned char* sums;
    float* most;  // [n_heads][kPartBlocks][2]: largest score, Σ e^(score − largest)
    bool late;
};

struct ValuesCall {
    AttentionCall attention;
    const unsigned char* sums;  // as in PartsCall
    const float* most;
};

template <class T>
struct PartMemory {
    T rows[kTile][kStride];
    // Of each warp's columns; later its sums of those columns.
    float scores[kWarps][kHeads][kTile];
    T weights[kHeads][kTile + 8];  // their sum is 1
    float most[kHeads], total[kHeads];
    float keep[kHeads], share[kHeads];  // of the tiles before and of this one in the sums
};
static_assert(2 * kHeads * kPartStride <= sizeof(PartMemory<__half>::scores[0]));
static_assert(sizeof(PartMemory<__half>) <= 112 * 1024);

#ifdef __CUDACC__
#if __CUDA_ARCH__ >= 900

// Positions that a block takes, of position + 1 in all.
__device__ inline int positions_of_part(int position) { return position / kPartBlocks + 1; }

// A warp's columns of the query: 64 of the latent part and half of the rotary part. The tensor
// cores add products in any order, so a lane takes eights that lie side by side, of the query as of
// the rows.
struct QueryColumns {
    uint4 latent[kHeads / 8][2], rot[kHeads / 8];  // of heads lane / 4 + 8 i

    __device__ void take(const unsigned char* query, int n_heads) {
        const int lane = static_cast<int>(threadIdx.x) % 32;
        const int warp = static_cast<int>(threadIdx.x) / 32;
#pragma unroll
        for (int i = 0; i < kHeads / 8; ++i) {
            const int head = lane / 4 + 8 * i;
            const auto* at = reinterpret_cast<const uint4*>(query) + head * 4 + lane % 4;
            latent[i][0] = latent[i][1] = rot[i] = {0, 0, 0, 0};
            if (head >= n_heads) continue;
            latent[i][0] = __ldcg(at + 2 * warp * n_heads * 4);
            latent[i][1] = __ldcg(at + (2 * warp + 1) * n_heads * 4);
            rot[i] = __ldcg(at + (kRank / 32 + warp / 4) * n_heads * 4);
        }
    }
};

// Two values at an even place, at once.
template <class T>
__device__ unsigned packed(float a, float b) {
    if constexpr (std::is_same_v<T, __half>) {
        const __half2 two = __floats2half2_rn(a, b);
        return *reinterpret_cast<const unsigned*>(&two);
    } else {
        const __nv_bfloat162 two = __floats2bfloat162_rn(a, b);
        return *reinterpret_cast<const unsigned*>(&two);
    }
}

// Four tiles of eight rows by eight values, as the tensor cores leave them; lane / 8 is the tile to
// whose row lane % 8 `to` points.
__device__ inline void put_tiles(void* to, const unsigned (&v)[4]) {
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(
                     shared_address(to)),
                 "r"(v[0]), "r"(v[1]), "r"(v[2]), "r"(v[3])
                 : "memory");
}

// c += a · b: sixteen heads by eight rows, 32 columns.
template <class T>
__device__ void multiply_columns(float (&c)[4], const uint4& upper, const uint4& lower,
                                 const uint4& b) {
    multiply<T>(c, {upper.x, lower.x, upper.y, lower.y}, {b.x, b.y});
    multiply<T>(c, {upper.z, lower.z, upper.w, lower.w}, {b.z, b.w});
}

// Scores of n rows, of each warp's columns. Two heads of four have their eights of positions the
// other way round, so that stores and loads meet all banks.
template <class T>
__device__ void score_part(PartMemory<T>& m, const QueryColumns& q, int n, int n_heads) {
    const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
#pragma unroll 1
    for (int first = 0; first < n; first += 16) {
        float c[kHeads / 16][2][4] = {};
#pragma unroll
        for (int j = 0; j < 2; ++j) {
            const T* row = &m.rows[first + 8 * j + lane / 4][lane % 4 * 16];
            const auto* own = reinterpret_cast<const uint4*>(row + kColumns * warp);
            const uint4 b[2] = {own[0], own[1]};
#pragma unroll
            for (int i = 0; i < 2; ++i) {
                multiply_columns<T>(c[0][j], q.latent[0][i], q.latent[1][i], b[i]);
                multiply_columns<T>(c[1][j], q.latent[2][i], q.latent[3][i], b[i]);
            }
            // Of the rotary part a warp has half of the columns of every fourth eight rows.
            if ((first / 8 + j - warp) % 4 == 0) {
                const uint4 rot = reinterpret_cast<const uint4*>(row + kRank)[warp / 4];
                multiply_columns<T>(c[0][j], q.rot[0], q.rot[1], rot);
                multiply_columns<T>(c[1][j], q.rot[2], q.rot[3], rot);
            }
        }
#pragma unroll
        for (int i = 0; i < kHeads / 8; ++i) {
            if (8 * i >= n_heads) continue;
#pragma unroll
            for (int j = 0; j < 2; ++j) {
                const float* of = c[i / 2][j] + i % 2 * 2;
                const int p = first + (8 * j ^ (lane & 8)) + lane % 4 * 2;
                *reinterpret_cast<float2*>(&m.scores[warp][8 * i + lane / 4][p]) = {of[0], of[1]};
            }
        }
    }
}

// Eight threads to a head: scores of n rows, of which the first `valid` count, to weights.
template <class T>
__device__ void soften_part(PartMemory<T>& m, int n, int valid, float scale, int n_heads) {
    const int head = static_cast<int>(threadIdx.x) / 8;
    const int p = static_cast<int>(threadIdx.x) % 8 * 2, at = p ^ (head & 2) << 2;
    if (head / 4 * 4 >= n_heads) return;  // whole warps
    constexpr int kEach = kTile / 16;
    float2 s[kEach] = {};
#pragma unroll 2
    for (int w = 0; w < kWarps; ++w) {
#pragma unroll
        for (int i = 0; i < kEach; ++i) {
            const float2 v = *reinterpret_cast<const float2*>(&m.scores[w][head][at + 16 * i]);
            s[i] = {s[i].x + v.x, s[i].y + v.y};
        }
    }
    float most = -INFINITY, own = 0;
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
        s[i].x = p + 16 * i < valid ? s[i].x * scale : -INFINITY;
        s[i].y = p + 16 * i + 1 < valid ? s[i].y * scale : -INFINITY;
        most = fmaxf(most, fmaxf(s[i].x, s[i].y));
    }
#pragma unroll
    for (int step = 1; step < 8; step *= 2) {
        most = fmaxf(most, __shfl_xor_sync(0xFFFFFFFFU, most, step));
    }
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
        s[i] = {__expf(s[i].x - most), __expf(s[i].y - most)};
        own += s[i].x + s[i].y;
    }
#pragma unroll
    for (int step = 1; step < 8; step *= 2) own += __shfl_xor_sync(0xFFFFFFFFU, own, step);
    const float part = __fdividef(1, own);
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
        if (16 * i >= n) continue;
        *reinterpret_cast<unsigned*>(&m.weights[head][p + 16 * i]) =
            packed<T>(s[i].x * part, s[i].y * part);
    }
    if (p != 0) return;
    const float before = m.most[head], largest = fmaxf(most, before);
    const float kept = m.total[head] * __expf(before - largest);
    own *= __expf(most - largest);
    m.most[head] = largest;
    m.total[head] = kept + own;
    m.keep[head] = __fdividef(kept, kept + own);
    m.share[head] = __fdividef(own, kept + own);
}

template <class T>
__device__ T* sums_of(PartMemory<T>& m, int head) {
    const int warp = static_cast<int>(threadIdx.x) / 32;
    return reinterpret_cast<T*>(&m.scores[warp][0][0]) + head * kPartStride;
}

// Each warp's columns of the tile's sums.
template <class T>
__device__ void add_part(PartMemory<T>& m, int n, int n_heads) {
    const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
    Sums sums = {};
#pragma unroll 1
    for (int k = 0; k < n; k += 16) {
        unsigned a[2][4];
        load_a(a[0], &m.weights[lane % 16][k + lane / 16 * 8]);
        load_a(a[1], &m.weights[16 + lane % 16][k + lane / 16 * 8]);
#pragma unroll
        for (int c = 0; c < 8; c += 2) {
            unsigned b[4];
            load_turned(b, &m.rows[k + lane % 16][kColumns * warp + 8 * c + lane / 16 * 8]);
#pragma unroll
            for (int half = 0; half < 2; ++half) {
                multiply<T>(sums[half][c], a[half], {b[0], b[1]});
                multiply<T>(sums[half][c + 1], a[half], {b[2], b[3]});
            }
        }
    }
#pragma unroll
    for (int half = 0; half < 2; ++half) {
        if (16 * half >= n_heads) continue;
        T* to = sums_of(m, 16 * half + lane % 16) + lane / 16 * 8;
#pragma unroll
        for (int c = 0; c < 8; c += 2) {
            const float *left = sums[half][c], *right = sums[half][c + 1];
            put_tiles(to + 8 * c, {packed<T>(left[0], left[1]), packed<T>(left[2], left[3]),
                                   packed<T>(right[0], right[1]), packed<T>(right[2], right[3])});
        }
    }
    __syncwarp();
}

// A block's part: columns of a head lie in the order in which the values read them. A later tile's
// sums come to those of the tiles before, which the same thread wrote.
template <class T>
__device__ void put_part(PartMemory<T>& m, const PartsCall& call, int block, bool first) {
    const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
    constexpr int kEights = kColumns / 8;
#pragma unroll 1
    for (int i = lane; i < call.n_heads * kEights; i += 32) {
        const int head = i / kEights;
        uint4* to = reinterpret_cast<uint4*>(call.sums) +
                    ((head * kAttentionTeam + warp) * kPartBlocks + block) * kEights + i % kEights;
        uint4 own = reinterpret_cast<const uint4*>(sums_of(m, head))[i % kEights];
        if (!first) {
            float sum[8] = {};
            add_eight<T>(sum, own, m.share[head]);
            add_eight<T>(sum, *to, m.keep[head]);
            own = {packed<T>(sum[0], sum[1]), packed<T>(sum[2], sum[3]), packed<T>(sum[4], sum[5]),
                   packed<T>(sum[6], sum[7])};
        }
        *to = own;
    }
}

#endif

template <class T>
struct PartsBody {
    using Call = PartsCall;
    static constexpr int kThreads = cuda::kThreads, kBlocks = 2, kArrivals = 0;
    struct Kept {};

    template <class Place>
    __device__ __forceinline__ static void run(const Call& call, Kept& /*kept*/, uint4* memory,
                                               const Place& place) {
#if __CUDA_ARCH__ >= 900
        if (!call.late) place.let_consumers_start();
        auto& m = *reinterpret_cast<PartMemory<T>*>(memory);
        const int t = static_cast<int>(threadIdx.x);
        const auto* cache = reinterpret_cast<const T*>(call.cache);
        // Neither the position nor the rows before it come from the kernel before this one.
        const int position = __ldcg(call.position);
        const int each = positions_of_part(position);
        const int begin = place.block() * each, end = min(begin + each, position + 1);
        if (begin >= end) return place.wait();
        if (t < kHeads) {
            m.most[t] = -INFINITY;
            m.total[t] = 0;
        }
#pragma unroll 1
        for (int first = begin; first < end; first += kTile) {
            const int n = min(kTile, (end - first + 15) / 16 * 16);
            if (first != begin) __syncthreads();
            ask_for_rows<true>(m.rows, cache + static_cast<long long>(first) * kWidth, n,
                               min(end, position) - first);
            wait_for_copies();
            if (first == begin) {
                place.wait();
                if (call.late) place.let_consumers_start();
            }
            QueryColumns q;
            q.take(call.query, call.n_heads);
            __syncthreads();
            // This token's own row, where ask_for_rows left zeros.
            if (position < first + kTile && position < end) {
                if (t < kPieces) {
                    copy_ahead(&m.rows[position - first][8 * t],
                               cache + static_cast<long long>(position) * kWidth + 8 * t);
                }
                wait_for_copies();
                __syncthreads();
            }
            score_part(m, q, n, call.n_heads);
            __syncthreads();
            soften_part(m, n, end - first, call.scale, call.n_heads);
            __syncthreads();
            add_part(m, n, call.n_heads);
            put_part(m, call, place.block(), first == begin);
        }
        if (t < call.n_heads) {
            reinterpret_cast<float2*>(call.most)[t * kPartBlocks + place.block()] = {m.most[t],
                                                                                     m.total[t]};
        }
#endif
    }
};

#if __CUDA_ARCH__ >= 900

// Each warp's sums of its parts' columns, weighted; all warps together have all parts.
template <class T>
__device__ void join_parts(const ValuesCall& call, int head, int share, int n_parts,
                           float (*columns)[kColumns]) {
    const int t = static_cast<int>(threadIdx.x), lane = t % 32, warp = t / 32;
    // A thread reads eight columns of every kPartsAtOnce-th part, all at once.
    const int eight = t % (kColumns / 8), first = t / (kColumns / 8);
    const long long at = static_cast<long long>(head * kAttentionTeam + share) * kPartBlocks;
    uint4 v[kPartLoads];
    float2 of[kPartLoads];
#pragma unroll
    for (int i = 0; i < kPartLoads; ++i) {
        const int p = i * kPartsAtOnce + first, of_lane = i * 32 + lane;
        v[i] = {0, 0, 0, 0};
        if (p < n_parts) {
            v[i] = __ldcg(reinterpret_cast<const uint4*>(call.sums) + (at + p) * (kColumns / 8) +
                          eight);
        }
        of[i] = {-INFINITY, 0};
        if (of_lane < n_parts) {
            of[i] =
                __ldcg(reinterpret_cast<const float2*>(call.most) + head * kPartBlocks + of_lane);
        }
    }
    static_assert(kPartsAtOnce == 32);
    float most = -INFINITY, weight[kPartLoads], total = 0;
#pragma unroll
    for (int i = 0; i < kPartLoads; ++i) most = fmaxf(most, of[i].x);
    most = warp_largest(most);
#pragma unroll
    for (int i = 0; i < kPartLoads; ++i) {
        weight[i] = of[i].x == -INFINITY ? 0.0F : __expf(of[i].x - most) * of[i].y;
        total += weight[i];
    }
    const float part = 1.0F / warp_sum(total);
    float sum[8] = {};
#pragma unroll
    for (int i = 0; i < kPartLoads; ++i) {
        add_eight<T>(sum, v[i], __shfl_sync(0xFFFFFFFFU, weight[i], first));
    }
    // Over the four lanes that have the same columns; each keeps two of the eight.
    const bool upper = lane & 16, second = lane & 8;
    float four[4], two[2];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        const float other = __shfl_xor_sync(0xFFFFFFFFU, upper ? sum[i] : sum[4 + i], 16);
        four[i] = (upper ? sum[4 + i] : sum[i]) + other;
    }
#pragma unroll
    for (int i = 0; i < 2; ++i) {
        const float other = __shfl_xor_sync(0xFFFFFFFFU, second ? four[i] : four[2 + i], 8);
        two[i] = (second ? four[2 + i] : four[i]) + other;
    }
    float* to = &columns[warp][8 * eight + (upper ? 4 : 0) + (second ? 2 : 0)];
    *reinterpret_cast<float2*>(to) = {two[0] * part, two[1] * part};
}

#endif

// A share of a head's columns from all parts, times the same columns of all its values' rows; the
// eight blocks of a head exchange what that came to, so that each has all of its share of the rows.
template <class T, bool kAllQ4>
struct ValuesBody {
    using Call = ValuesCall;
    static constexpr int kThreads = cuda::kThreads, kBlocks = 4, kArrivals = 1;
    struct Kept {
        Arrival arrivals[1];
        alignas(16) float columns[kWarps][kColumns];
        alignas(16) unsigned char handed[kColumns / 32 * 48];
        // From all blocks, their two units of columns one by one where a row has two threads.
        float received[2 * kAttentionTeam][kMostValueRows];
        alignas(16) float values[kMostValueRows];
    };

    template <class Place>
    __device__ __forceinline__ static void run(const Call& call, Kept& kept, uint4* /*memory*/,
                                               const Place& place) {
#if __CUDA_ARCH__ >= 900
        const AttentionCall& c = call.attention;
        const MlaCall& h = c.head;
        if (!c.late) place.let_consumers_start();
        const Team team = Team::own();
        const int t = static_cast<int>(threadIdx.x), lane = t % 32, warp = t / 32;
        const int head = place.block() / kAttentionTeam, n_heads = place.blocks() / kAttentionTeam;
        if (t == 0) make_arrivals(kept.arrivals, 1);
        __syncwarp();  // else racecheck takes the two for accesses of two threads
        if (t == 0) expect(kept.arrivals, kAttentionTeam * kMostValueRows * 4);
        __syncwarp();
        arrive_in_cluster();
        // A thread multiplies both units of a row, or one where there are half as many rows.
        const bool whole = h.n_value == kThreads;
        const int row = t & (h.n_value - 1), own = whole ? 0 : t / (kThreads / 2);
        const int first_unit = 2 * team.rank + own;
        Unit<Form::q4_0> rows[2];
        if constexpr (kAllQ4) {
            const RowParts at = Unit<Form::q4_0>::row(h.v_b, head * h.n_value + row);
            rows[0].load(at, first_unit);
            if (whole) rows[1].load(at, first_unit + 1);
        }
        const int position = __ldcg(h.position), each = positions_of_part(position);
        const int n_parts = (position + each) / each;  // of blocks that had positions
        place.wait();
        if (c.late) place.let_consumers_start();
        join_parts<T>(call, head, team.rank, n_parts, kept.columns);
        __syncthreads();
        const Handed x = handed_at(kept.handed, kColumns);
        if (warp == 0) {
            const int i = lane % (kColumns / 4);
            float4 all = {0, 0, 0, 0};
#pragma unroll
            for (int w = 0; w < kWarps; ++w) {
                const float4 one = *reinterpret_cast<const float4*>(&kept.columns[w][4 * i]);
                all = {all.x + one.x, all.y + one.y, all.z + one.z, all.w + one.w};
            }
            put_four(x, i, all, lane < kColumns / 4);
        }
        __syncthreads();
        float value = 0;
        if constexpr (kAllQ4) {
            value = dot(rows[0], HandedUnit::at(x, own));
            if (whole) value += dot(rows[1], HandedUnit::at(x, 1));
        } else {
            with_planes(h.v_b.form, [&](auto u) {
                using U = decltype(u);
                const RowParts parts = U::row(h.v_b, head * h.n_value + row);
                for (int i = 0; i < (whole ? 2 : 1); ++i) {
                    value += dot(taken<U>(parts, first_unit + i), HandedUnit::at(x, own + i));
                }
            });
        }
        wait_in_cluster();  // nobody writes into a block that has not begun
        const int n = v_rows_of(c), of_block = whole ? 5 : 4;  // n is 2 to that
        const int n_threads = whole ? 1 : 2;
        send(&kept.received[team.rank * n_threads + own][row & (n - 1)], kept.arrivals,
             row >> of_block, value);
        await_sent(kept.arrivals);
        if (warp < n / kGroup) {
            float* values = kept.values + warp * kGroup;
            float all = 0;
            const float* from = &kept.received[0][warp * kGroup + lane % kGroup];
#pragma unroll 8
            for (int i = 0; i < kAttentionTeam * n_threads; ++i) all += from[i * kMostValueRows];
            if (lane < kGroup) values[lane] = all;
            __syncwarp();
            const int group = (head * h.n_value + team.rank * n) / kGroup + warp;
            hand_over({c.out, nullptr, n_heads * h.n_value}, 1, group, values, {1, 1, 1, 1});
        }
#endif
    }
};

#endif

}  // namespace steady::cuda
