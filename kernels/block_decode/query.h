// Steps of a block's attention that its ways near and deep in a text share: the query of a head in
// units of 32 values, this token's row of the cache, and the head's values. For .cu files alone.
#pragma once

#include "kernels/block_decode/cuda.h"
#include "kernels/block_decode/handed.h"
#include "kernels/mla_decode/head.h"

namespace steady::cuda {

constexpr int kUnit = 32;  // values of a head's query that a block makes

// Of kernels made for one width and form.
[[maybe_unused]] constexpr int kKnownRank = 512, kKnownRot = 64;
template <bool kKnown>
constexpr int kForm = kKnown ? only(Form::q4_0) : kAnyForm;

struct AttentionCall {
    MlaCall head;
    int query_units, nope_units;  // of a head
    const unsigned char* query;   // handed, of all heads' rank; null where q comes whole
    const float* query_squares;
    const float* kv_squares;
    unsigned char* out;
    bool late;  // the kernel behind starts when the query is there
};

// Deep in a text: queries in latent space of the cache's type, [n_heads][rank + rot] or in pieces.
void run_query(const AttentionCall& call, int n_heads, float* out, bool in_pieces);
// Where the tensor cores read a warp's columns of all heads side by side: column c of a head's
// query. A piece has 32 values of each head: every other eight of 64 columns.
__host__ __device__ constexpr int place_in_pieces(int c, int head, int n_heads) {
    const int pair = c / 16, eight = c / 8 % 2;
    return ((pair / 4 * 2 + eight) * n_heads + head) * 32 + pair % 4 * 8 + c % 8;
}
AttentionCall attention_call_of(const BlockDecode::Args& args, const Ways& ways);
inline bool all_q4_0(const AttentionCall& c) {
    return c.head.k_b.form == Form::q4_0 && c.head.v_b.form == Form::q4_0 &&
           (c.query == nullptr || c.head.q_b.form == Form::q4_0);
}

__host__ __device__ inline int q_bytes_of(const AttentionCall& c) {
    return c.query == nullptr ? 0 : 4 * chunk_bytes(c.head.q_b.form, c.head.query.n);
}
__host__ __device__ inline int v_rows_of(const AttentionCall& c) {
    return c.head.n_value / kAttentionTeam;
}
__host__ __device__ inline int v_bytes_of(const AttentionCall& c) {
    return v_rows_of(c) / 8 * chunk_bytes(c.head.v_b.form, c.head.latent.n);
}

#ifdef __CUDACC__
#if __CUDA_ARCH__ >= 900

template <bool kKnown>
__device__ int rank_of(const MlaCall& h) {
    return kKnown ? kKnownRank : h.latent.n;
}
template <bool kKnown>
__device__ int rot_of(const MlaCall& h) {
    return kKnown ? kKnownRot : h.n_rot;
}

// Of a pair of rotary values.
struct Angle {
    float cos, sin;
    __device__ static Angle at(const MlaCall& h, int position, int pair) {
        const long long i = static_cast<long long>(position) * (h.n_rot / 2) + pair;
        return {__ldg(h.cos + i), __ldg(h.sin + i)};
    }
    __device__ float2 turn(float2 v) const {
        return {v.x * cos - v.y * sin, v.x * sin + v.y * cos};
    }
};

__device__ inline float2 two_at(const float* p) {
    return __ldcg(reinterpret_cast<const float2*>(p));
}

// This token's row: the latent normed, its rotary part turned, all rounded as the cache rounds. A
// thread makes pair t of either part, whose values it has asked for.
template <bool kKnown>
__device__ void make_own_row(const AttentionCall& c, float* row, int position, float factor,
                             float2 latent, float2 w, float2 rot, Angle angle, bool store) {
    const MlaCall& h = c.head;
    const int rank = rank_of<kKnown>(h), n_rot = rot_of<kKnown>(h);
    const long long first = static_cast<long long>(position) * (rank + n_rot);
    const auto put = [&](int p, float2 v) {
        v = {as_cached(h.value, v.x), as_cached(h.value, v.y)};
        *reinterpret_cast<float2*>(row + p) = v;
        if (store) {
            put_cached(h, first + p, v.x);
            put_cached(h, first + p + 1, v.y);
        }
    };
    const int p = 2 * static_cast<int>(threadIdx.x);
    if (p < rank) {
        put(p, {latent.x * factor * w.x, latent.y * factor * w.y});
    }
    if (p < n_rot) put(rank + p, angle.turn(rot));
}

// The block's 32 query values.
template <bool kKnown>
__device__ void make_query(const AttentionCall& c, const unsigned char* rows, void* query, int head,
                           int unit, float* values, float factor, Arrival* arrival) {
    const MlaCall& h = c.head;
    const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
    if (c.query == nullptr) {
        const float* own = h.q + head * (h.n_nope + h.n_rot) + unit * kUnit;
        if (warp == 0) values[lane] = __ldcg(own + lane);
        return;
    }
    await(arrival);
    float sums[4] = {};
    with_planes_of<kForm<kKnown>>(h.q_b.form, [&](auto u) {
        dot_rows<decltype(u)>(sums, in_memory(rows, h.q_b), 4 * warp, handed_at(query, h.query.n),
                              lane, 32);
    });
#pragma unroll
    for (int r = 0; r < 4; ++r) {
        sums[r] = warp_sum(sums[r]) * factor;
        if (lane == r) values[4 * warp + r] = sums[r];
    }
}

// A thread's rows of the block's columns of k_b, asked for early where their form is known.
template <bool kKnown>
struct KeyRows {
    static constexpr int kN = kKnown ? kKnownRank / kThreads : 1;
    Unit<Form::q4_0> rows[kN];

    __device__ void ask(const MlaCall& h, int head, int unit) {
        if constexpr (kKnown) {
#pragma unroll
            for (int i = 0; i < kN; ++i) {
                const int r = head * kKnownRank + static_cast<int>(threadIdx.x) + i * kThreads;
                rows[i].load(Unit<Form::q4_0>::row(h.k_b, r), unit);
            }
        }
    }
};

// put(row, product) with the block's columns of k_b, for each of a head's rows.
template <bool kKnown, class Put>
__device__ void absorb(const MlaCall& h, int head, int unit, const float* values,
                       unsigned char* handed, const KeyRows<kKnown>& keys, Put put) {
    const int rank = rank_of<kKnown>(h), t = static_cast<int>(threadIdx.x), lane = t % 32;
    // Each warp for itself, into memory of its own.
    const Handed own = handed_at(handed + t / 32 * 48, kUnit);
    put_four(own, lane % 8, reinterpret_cast<const float4*>(values)[lane % 8], lane < 8);
    __syncwarp();
    const HandedUnit x = HandedUnit::at(own, 0);
    if constexpr (kKnown) {
#pragma unroll
        for (int i = 0; i < KeyRows<kKnown>::kN; ++i) put(t + i * kThreads, dot(keys.rows[i], x));
    } else {
        with_planes(h.k_b.form, [&](auto u) {
            using U = decltype(u);
            for (int r = t; r < rank; r += kThreads) {
                put(r, dot(taken<U>(U::row(h.k_b, head * rank + r), unit), x));
            }
        });
    }
}

// Part `part` of the head's values of n_heads, from its attended latent x: half a warp a row.
template <bool kKnown>
__device__ void make_values(const AttentionCall& c, const unsigned char* v_rows, const Handed& x,
                            int head, int n_heads, int part, float* values, Arrival* arrival) {
    const MlaCall& h = c.head;
    const int t = static_cast<int>(threadIdx.x), lane = t % 16, n = v_rows_of(c);
    await(arrival);
    constexpr int kAtOnce = kThreads / 16;
    float sums[2] = {};
    with_planes_of<kForm<kKnown>>(h.v_b.form, [&](auto u) {
        using U = decltype(u);
        const Matrix rows = in_memory(v_rows, h.v_b);
        const RowParts at[2] = {U::row(rows, t / 16), U::row(rows, min(t / 16 + kAtOnce, n - 1))};
        dot_parts<U>(sums, at, h.latent.n / 32, x, lane, 16);
    });
#pragma unroll
    for (int r = 0; r < 2; ++r) {
#pragma unroll
        for (int step = 8; step > 0; step /= 2) {
            sums[r] += __shfl_xor_sync(0xFFFFFFFFU, sums[r], step);
        }
        const int row = t / 16 + r * kAtOnce;
        if (lane == 0 && row < n) values[row] = sums[r];
    }
    __syncthreads();
    const int warp = t / 32;
    if (warp < n / kGroup) {
        const int all = n_heads * h.n_value;
        const int group = (head * h.n_value + part * n) / kGroup + warp;
        hand_over({c.out, nullptr, all}, 1, group, values + warp * kGroup, {1, 1, 1, 1});
    }
}

#endif
#endif

}  // namespace steady::cuda
