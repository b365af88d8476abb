// The second step of attention deep in a text as in body_parts.h, whose third step follows: a block
// takes 64 positions at once where 48 were, in the same memory. A warp makes scores of 128 of the
// latent's columns and of sixteen heads, not of 64 and of all, so that half as many sums over
// columns wait for each other. A later tile's rows are asked for before the sums of the tile before
// are written. For .cu files alone.
#pragma once

#include "kernels/block_decode/body_parts.h"

namespace steady::cuda {

constexpr int kTileRows = 64;    // positions that a block takes at once
constexpr int kScoreGroups = 4;  // of columns
constexpr int kScoreColumns = kRank / kScoreGroups;
constexpr int kHalfHeads = kHeads / 2;

template <class T>
struct WideMemory {
    T rows[kTileRows][kStride];
    // Of each group's columns; later each warp's sums of its columns.
    float scores[kScoreGroups][kHeads][kTileRows];
    T weights[kHeads][kTileRows + 8];  // their sum is 1
    float most[kHeads], total[kHeads];
    float keep[kHeads], share[kHeads];  // of the tiles before and of this one in the sums
};
static_assert(kWarps * kHeads * kColumns * 2 <= sizeof(WideMemory<__half>::scores));
static_assert(sizeof(WideMemory<__half>) <= 112 * 1024);

#ifdef __CUDACC__
#if __CUDA_ARCH__ >= 900

// A warp's columns of the query, 128 of the latent part and 16 of the rotary part, of sixteen
// heads; up to sixteen heads two warps have the same and share the rows.
struct QueryShare {
    uint4 latent[2][4];  // of heads first_head() + lane / 4 + 8 i
    uint2 rot[2];

    __device__ static int group() { return static_cast<int>(threadIdx.x) / 32 % kScoreGroups; }
    __device__ static int half() { return static_cast<int>(threadIdx.x) / 32 / kScoreGroups; }
    __device__ static int first_head(int n_heads) {
        return n_heads > kHalfHeads ? half() * kHalfHeads : 0;
    }
    __device__ void take(const unsigned char* query, int n_heads) {
        const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            const int head = first_head(n_heads) + lane / 4 + 8 * i;
            const auto* at = reinterpret_cast<const uint4*>(query) + head * 4 + lane % 4;
#pragma unroll
            for (int k = 0; k < 4; ++k) {
                latent[i][k] = {0, 0, 0, 0};
                if (head < n_heads) latent[i][k] = __ldcg(at + (4 * group() + k) * n_heads * 4);
            }
            rot[i] = {0, 0};
            const auto* of_rot = at + (kRank / 32 + group() % 2) * n_heads * 4;
            if (head < n_heads) {
                rot[i] = __ldcg(reinterpret_cast<const uint2*>(of_rot) + group() / 2);
            }
        }
    }
};

// Where the score of a position lies: heads have their eights of positions in different orders, so
// that stores and loads meet all banks.
__device__ inline int place_of_score(int position, int head) {
    return position ^ ((head & 1) << 4 | (head & 2) << 2);
}

// Scores of n rows, of each warp's columns.
template <class T>
__device__ void score_tile(WideMemory<T>& m, const QueryShare& q, int n, int n_heads) {
    const int lane = static_cast<int>(threadIdx.x) % 32, group = QueryShare::group();
    const int first_head = QueryShare::first_head(n_heads);
    const bool shared = n_heads <= kHalfHeads;
#pragma unroll 1
    for (int first = shared ? 16 * QueryShare::half() : 0; first < n; first += shared ? 32 : 16) {
        float c[2][2][4] = {};
#pragma unroll
        for (int j = 0; j < 2; ++j) {
            const T* row = &m.rows[first + 8 * j + lane / 4][lane % 4 * 16];
            const auto* own = reinterpret_cast<const uint4*>(row + kScoreColumns * group);
            const uint4 b[4] = {own[0], own[1], own[kColumns / 8], own[kColumns / 8 + 1]};
#pragma unroll
            for (int k = 0; k < 4; ++k) {
                multiply_columns<T>(c[j][k / 2], q.latent[0][k], q.latent[1][k], b[k]);
            }
            const uint2 rot =
                reinterpret_cast<const uint2*>(row + kRank)[group % 2 * 2 + group / 2];
            multiply<T>(c[j][1], {q.rot[0].x, q.rot[1].x, q.rot[0].y, q.rot[1].y}, {rot.x, rot.y});
        }
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            if (first_head + 8 * i >= n_heads) continue;
#pragma unroll
            for (int j = 0; j < 2; ++j) {
                const float *left = c[j][0] + 2 * i, *right = c[j][1] + 2 * i;
                const int p = place_of_score(first + 8 * j + lane % 4 * 2, lane / 4);
                *reinterpret_cast<float2*>(&m.scores[group][first_head + 8 * i + lane / 4][p]) = {
                    left[0] + right[0], left[1] + right[1]};
            }
        }
    }
}

// Eight threads to a head: scores of n rows, of which the first `valid` count, to weights.
template <class T>
__device__ void soften_tile(WideMemory<T>& m, int n, int valid, float scale, int n_heads) {
    const int head = static_cast<int>(threadIdx.x) / 8;
    const int p = static_cast<int>(threadIdx.x) % 8 * 2;
    if (head / 4 * 4 >= n_heads) return;  // whole warps
    constexpr int kEach = kTileRows / 16;
    float2 s[kEach] = {};
#pragma unroll
    for (int w = 0; w < kScoreGroups; ++w) {
#pragma unroll
        for (int i = 0; i < kEach; ++i) {
            if (16 * i >= n) continue;
            const int at = place_of_score(p + 16 * i, head);
            const float2 v = *reinterpret_cast<const float2*>(&m.scores[w][head][at]);
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

// Eight columns of a head's sums of this warp; heads have them in different orders, so that eight
// meet all banks.
template <class T>
__device__ T* eight_of(WideMemory<T>& m, int head, int eight) {
    const int warp = static_cast<int>(threadIdx.x) / 32;
    return reinterpret_cast<T*>(m.scores) + (warp * kHeads + head) * kColumns +
           (eight ^ head % 8) * 8;
}

// Each warp's columns of the tile's sums.
template <class T>
__device__ void add_tile(WideMemory<T>& m, int n, int n_heads) {
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
#pragma unroll
        for (int c = 0; c < 8; c += 2) {
            const float *left = sums[half][c], *right = sums[half][c + 1];
            put_tiles(eight_of(m, 16 * half + lane % 16, c + lane / 16),
                      {packed<T>(left[0], left[1]), packed<T>(left[2], left[3]),
                       packed<T>(right[0], right[1]), packed<T>(right[2], right[3])});
        }
    }
    __syncwarp();
}

// As put_part() of body_parts.h; the sums of the tiles before are asked for together.
template <class T>
__device__ void put_tile(WideMemory<T>& m, const PartsCall& call, int block, bool first) {
    const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
    constexpr int kEights = kColumns / 8, kAtOnce = 4;
    const int n = call.n_heads * kEights;
    const auto place = [&](int i) {
        return reinterpret_cast<uint4*>(call.sums) +
               ((i / kEights * kAttentionTeam + warp) * kPartBlocks + block) * kEights +
               i % kEights;
    };
    const auto own = [&](int i) {
        return *reinterpret_cast<const uint4*>(eight_of(m, i / kEights, i % kEights));
    };
    if (first) {
#pragma unroll 1
        for (int i = lane; i < n; i += 32) *place(i) = own(i);
        return;
    }
#pragma unroll 1
    for (int i = lane; i < n; i += 32 * kAtOnce) {
        uint4 before[kAtOnce];
#pragma unroll
        for (int k = 0; k < kAtOnce; ++k) before[k] = __ldcg(place(min(i + 32 * k, n - 1)));
#pragma unroll
        for (int k = 0; k < kAtOnce; ++k) {
            if (i + 32 * k >= n) continue;
            const int head = (i + 32 * k) / kEights;
            float sum[8] = {};
            add_eight<T>(sum, own(i + 32 * k), m.share[head]);
            add_eight<T>(sum, before[k], m.keep[head]);
            *place(i + 32 * k) = {packed<T>(sum[0], sum[1]), packed<T>(sum[2], sum[3]),
                                  packed<T>(sum[4], sum[5]), packed<T>(sum[6], sum[7])};
        }
    }
}

#endif

template <class T>
struct WideBody {
    using Call = PartsCall;
    static constexpr int kThreads = cuda::kThreads, kBlocks = 2, kArrivals = 0;
    struct Kept {};

    template <class Place>
    __device__ __forceinline__ static void run(const Call& call, Kept& /*kept*/, uint4* memory,
                                               const Place& place) {
#if __CUDA_ARCH__ >= 900
        if (!call.late) place.let_consumers_start();
        auto& m = *reinterpret_cast<WideMemory<T>*>(memory);
        const int t = static_cast<int>(threadIdx.x);
        // Neither the position nor the rows before it come from the kernel before this one.
        const int position = __ldcg(call.position);
        const int each = positions_of_part(position), begin = place.block() * each;
        const int n = min(each, position + 1 - begin), n_before = min(n, position - begin);
        if (n <= 0) return place.wait();
        const auto* rows =
            reinterpret_cast<const T*>(call.cache) + static_cast<long long>(begin) * kWidth;
        const auto rows_at = [&](int first) { return min(kTileRows, (n - first + 15) / 16 * 16); };
        const auto ask = [&](int first) {
            ask_for_rows<true>(m.rows, rows + static_cast<long long>(first) * kWidth,
                               rows_at(first), n_before - first);
        };
        ask(0);
        if (t < kHeads) {
            m.most[t] = -INFINITY;
            m.total[t] = 0;
        }
        wait_for_copies();
        place.wait();
        if (call.late) place.let_consumers_start();
#pragma unroll 1
        for (int first = 0;; first += kTileRows) {
            const int of_tile = rows_at(first);
            const bool last = first + kTileRows >= n;
            QueryShare q;
            q.take(call.query, call.n_heads);
            wait_for_copies();
            __syncthreads();
            // This token's own row, where ask_for_rows left zeros.
            if (last && n_before < n) {
                if (t < kPieces) {
                    copy_ahead(&m.rows[n_before - first][8 * t],
                               rows + static_cast<long long>(n_before) * kWidth + 8 * t);
                }
                wait_for_copies();
                __syncthreads();
            }
            score_tile(m, q, of_tile, call.n_heads);
            __syncthreads();
            soften_tile(m, of_tile, n - first, call.scale, call.n_heads);
            __syncthreads();
            add_tile(m, of_tile, call.n_heads);
            if (!last) {
                __syncthreads();  // all warps have added the rows
                ask(first + kTileRows);
            }
            put_tile(m, call, place.block(), first == 0);
            if (last) break;
        }
        if (t < call.n_heads) {
            reinterpret_cast<float2*>(call.most)[t * kPartBlocks + place.block()] = {m.most[t],
                                                                                     m.total[t]};
        }
#endif
    }
};

#endif

}  // namespace steady::cuda
