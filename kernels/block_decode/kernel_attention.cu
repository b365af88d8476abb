// The attention of a block: a head in one cluster of eight blocks, which meet twice. A block makes
// 32 of the head's query values and multiplies them at once with its columns of k_b, so that the
// absorbed query comes as sums from all blocks; positions are dealt out warp by warp, and their
// sums joined in every block, each of which makes its share of the head's values.
#include <algorithm>

#include "kernels/block_decode/cuda.h"
#include "kernels/block_decode/handed.h"
#include "kernels/mla_decode/head.h"

namespace steady::cuda {
namespace {

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
};

struct Room {
    unsigned char *q_rows, *v_rows, *query;  // two matrices' rows; the handed query
    float *row, *absorbed, *latent, *sums, *most, *team;
    unsigned char* v;  // handed: what v_b multiplies
};

__host__ __device__ inline int q_bytes_of(const AttentionCall& c) {
    return c.query == nullptr ? 0 : 4 * chunk_bytes(c.head.q_b.form, c.head.query.n);
}
__host__ __device__ inline int v_rows_of(const AttentionCall& c) {
    return c.head.n_value / kAttentionTeam;
}
__host__ __device__ inline int v_bytes_of(const AttentionCall& c) {
    return v_rows_of(c) / 8 * chunk_bytes(c.head.v_b.form, c.head.latent.n);
}

// Bytes, and where the parts begin.
__host__ __device__ inline std::size_t lay_out(const AttentionCall& c, unsigned char* memory,
                                               Room& room) {
    const int rank = c.head.latent.n, width = rank + c.head.n_rot;
    unsigned char* at = memory;
    const auto bytes = [&](std::size_t n) {
        unsigned char* begin = at;
        at += (n + 15) / 16 * 16;
        return begin;
    };
    const auto floats = [&](int n) {
        return reinterpret_cast<float*>(bytes(4 * static_cast<std::size_t>(n)));
    };
    room.q_rows = bytes(static_cast<std::size_t>(q_bytes_of(c)));
    room.v_rows = bytes(static_cast<std::size_t>(v_bytes_of(c)));
    room.query = bytes(c.query == nullptr ? 0 : handed_bytes(c.head.query.n));
    room.row = floats(width);
    room.absorbed = floats(c.nope_units * rank);
    room.latent = floats(width);
    room.sums = floats(kWarps * rank);
    room.most = floats(2 * kWarps);
    room.team = floats(kAttentionTeam * (rank + 4));
    room.v = bytes(handed_bytes(rank));
    return static_cast<std::size_t>(at - memory);
}

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

// n cached values from `at` on into the second-level cache, by one warp.
__device__ inline void ask_for_cached(const MlaCall& h, long long at, int n) {
    const int size = h.value == Value::f32 ? 4 : 2;
    const unsigned char* from = h.cache + at * size;
    for (int i = 128 * (static_cast<int>(threadIdx.x) % 32); i < n * size; i += 128 * 32) {
        asm volatile("prefetch.global.L2 [%0];" ::"l"(from + i));
    }
}

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
__device__ void make_query(const AttentionCall& c, const Room& room, int head, int unit,
                           float* values, float factor, Arrival* arrival) {
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
        dot_rows<decltype(u)>(sums, in_memory(room.q_rows, h.q_b), 4 * warp,
                              handed_at(room.query, h.query.n), lane, 32);
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

// Their products with the block's columns of k_b, for all blocks.
template <bool kKnown>
__device__ void absorb(const AttentionCall& c, const Room& room, int head, int unit,
                       const float* values, unsigned char* handed, const KeyRows<kKnown>& keys,
                       const Team& team) {
    const MlaCall& h = c.head;
    const int rank = rank_of<kKnown>(h), t = static_cast<int>(threadIdx.x), lane = t % 32;
    // Each warp for itself, into memory of its own.
    const Handed own = handed_at(handed + t / 32 * 48, kUnit);
    put_four(own, lane % 8, reinterpret_cast<const float4*>(values)[lane % 8], lane < 8);
    __syncwarp();
    const HandedUnit x = HandedUnit::at(own, 0);
    const auto put = [&](int r, float sum) {
        for (int b = 0; b < team.size; ++b) team.of(room.absorbed + unit * rank, b)[r] = sum;
    };
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

// Or their rotation, where they are of the rotary part: a thread turns one pair for one block.
__device__ void turn(const AttentionCall& c, const Room& room, int unit, const float* values,
                     Angle angle, const Team& team) {
    const int b = static_cast<int>(threadIdx.x) / (kUnit / 2);
    const int pair = static_cast<int>(threadIdx.x) % (kUnit / 2);
    if (b >= team.size) return;
    float* to = room.latent + c.head.latent.n + (unit - c.nope_units) * kUnit + 2 * pair;
    *reinterpret_cast<float2*>(team.of(to, b)) =
        angle.turn({values[2 * pair], values[2 * pair + 1]});
}

template <bool kKnown>
__device__ void join_absorbed(const AttentionCall& c, const Room& room) {
    const int rank = rank_of<kKnown>(c.head);
    for (int i = static_cast<int>(threadIdx.x); i < rank; i += kThreads) {
        float sum = 0;
        for (int u = 0; u < c.nope_units; ++u) sum += room.absorbed[u * rank + i];
        room.latent[i] = sum;
    }
}

// All positions' share of this block, then its sums in every block.
template <bool kKnown>
__device__ void attend_share(const AttentionCall& c, const Room& room, int position,
                             const Lane& first, const Team& team) {
    const MlaCall& h = c.head;
    const int rank = rank_of<kKnown>(h), n_rot = rot_of<kKnown>(h), width = rank + n_rot;
    const auto from = [](const float* values) {
        return [values](int p) { return *reinterpret_cast<const float2*>(values + p); };
    };
    Lane query, row = first;
    take_lane(query, rank, n_rot, from(room.latent));
    Running run;
    const int n_warps = team.size * kWarps, lane = static_cast<int>(threadIdx.x) % 32;
    const int warp = static_cast<int>(threadIdx.x) / 32;
#pragma unroll 1
    for (int t = warp * team.size + team.rank; t <= position; t += n_warps) {
        if (t == position) take_lane(row, rank, n_rot, from(room.row));
        Lane next;
        if (t + n_warps < position) {
            const long long at = static_cast<long long>(t + n_warps) * width;
            take_lane(next, rank, n_rot, [&](int p) { return two_cached(h, at + p); });
        }
        attend(run, query, row, h.scale);
        row = next;
    }
    if (lane == 0) {
        room.most[2 * warp] = run.most;
        room.most[2 * warp + 1] = run.total;
    }
#pragma unroll
    for (int i = 0; i < kPairs; ++i) {
        const int p = 2 * (lane + 32 * i);
        if (p < rank) *reinterpret_cast<float2*>(room.sums + warp * rank + p) = run.sum[i];
    }
    __syncthreads();
    float most = -INFINITY, total = 0, weight[kWarps];
#pragma unroll
    for (int w = 0; w < kWarps; ++w) most = fmaxf(most, room.most[2 * w]);
#pragma unroll
    for (int w = 0; w < kWarps; ++w) {
        const float own = room.most[2 * w];
        weight[w] = own == -INFINITY ? 0.0F : __expf(own - most);
        total += room.most[2 * w + 1] * weight[w];
    }
    float* place = room.team + team.rank * (rank + 4);
    for (int p = 2 * static_cast<int>(threadIdx.x); p < rank; p += 2 * kThreads) {
        float2 sum = {0, 0};
#pragma unroll
        for (int w = 0; w < kWarps; ++w) {
            const float2 own = *reinterpret_cast<const float2*>(room.sums + w * rank + p);
            sum = {sum.x + weight[w] * own.x, sum.y + weight[w] * own.y};
        }
        for (int b = 0; b < team.size; ++b) {
            *reinterpret_cast<float2*>(team.of(place, b) + 4 + p) = sum;
        }
    }
    if (static_cast<int>(threadIdx.x) < team.size) {
        float* head = team.of(place, static_cast<int>(threadIdx.x));
        head[0] = most;
        head[1] = total;
    }
}

// The head's attended latent, handed over within the block.
template <bool kKnown>
__device__ void join_team(const AttentionCall& c, const Room& room, const Team& team) {
    const int rank = rank_of<kKnown>(c.head);
    float most = -INFINITY, total = 0, weight[kMostTeam];
    for (int b = 0; b < team.size; ++b) most = fmaxf(most, room.team[b * (rank + 4)]);
#pragma unroll
    for (int b = 0; b < kMostTeam; ++b) {
        const float own = b < team.size ? room.team[b * (rank + 4)] : -INFINITY;
        weight[b] = own == -INFINITY ? 0.0F : __expf(own - most);
        total += b < team.size ? room.team[b * (rank + 4) + 1] * weight[b] : 0.0F;
    }
    const int t = static_cast<int>(threadIdx.x);
    for (int base = 0; base < rank / 4; base += kThreads) {
        const int i = base + t;
        const bool valid = i < rank / 4;
        float4 sum = {0, 0, 0, 0};
#pragma unroll
        for (int b = 0; b < kMostTeam; ++b) {
            if (b >= team.size || !valid) continue;
            const float4 own =
                *reinterpret_cast<const float4*>(room.team + b * (rank + 4) + 4 + 4 * i);
            sum = {sum.x + weight[b] * own.x, sum.y + weight[b] * own.y, sum.z + weight[b] * own.z,
                   sum.w + weight[b] * own.w};
        }
        const float part = 1.0F / total;
        put_four(handed_at(room.v, rank), i,
                 {sum.x * part, sum.y * part, sum.z * part, sum.w * part}, valid);
    }
}

// The block's share of the head's values: half a warp a row.
template <bool kKnown>
__device__ void make_values(const AttentionCall& c, const Room& room, int head, float* values,
                            Arrival* arrival, const Team& team) {
    const MlaCall& h = c.head;
    const int t = static_cast<int>(threadIdx.x), lane = t % 16, n = v_rows_of(c);
    const Handed x = handed_at(room.v, h.latent.n);
    await(arrival);
    constexpr int kAtOnce = kThreads / 16;
    float sums[2] = {};
    with_planes_of<kForm<kKnown>>(h.v_b.form, [&](auto u) {
        using U = decltype(u);
        const Matrix rows = in_memory(room.v_rows, h.v_b);
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
        const int all = static_cast<int>(gridDim.x) / team.size * h.n_value;
        const int group = (head * h.n_value + team.rank * n) / kGroup + warp;
        hand_over({c.out, nullptr, all}, 1, group, values + warp * kGroup, {1, 1, 1, 1});
    }
}

#endif

template <bool kKnown>
__global__ void __launch_bounds__(kThreads, 2)
    attention_kernel(const __grid_constant__ AttentionCall call) {
#if __CUDA_ARCH__ >= 900
    extern __shared__ uint4 memory[];
    __shared__ Arrival arrivals[2];
    __shared__ float factors[2];  // of the query's norm, of the latent's
    __shared__ __align__(16) float values[kUnit];
    __shared__ __align__(16) unsigned char handed[kWarps * 48];
    let_consumers_start();
    const MlaCall& h = call.head;
    const Team team = Team::own();
    const int head = static_cast<int>(blockIdx.x) / team.size, unit = team.rank;
    const int rank = rank_of<kKnown>(h), n_rot = rot_of<kKnown>(h);
    Room room;
    lay_out(call, reinterpret_cast<unsigned char*>(memory), room);
    const bool has_query = unit < call.query_units;
    arrive_in_cluster();
    if (threadIdx.x == 0) {
        make_arrivals(arrivals, 2);
        if (has_query && call.query != nullptr) {
            expect(arrivals, q_bytes_of(call));
            ask_rows(room.q_rows, h.q_b,
                     static_cast<long long>(head) * (h.n_nope + h.n_rot) + unit * kUnit, kUnit,
                     arrivals);
        }
        expect(arrivals + 1, v_bytes_of(call));
        ask_rows(room.v_rows, h.v_b,
                 static_cast<long long>(head) * h.n_value + team.rank * v_rows_of(call),
                 v_rows_of(call), arrivals + 1);
    }
    // What lies in the cache was written by earlier tokens, and so was the position.
    const int position = __ldcg(h.position);
    const int t = static_cast<int>(threadIdx.x), own_first = t / 32 * team.size + team.rank;
    Lane first = {};
    if (own_first < position) {
        const long long at = static_cast<long long>(own_first) * (rank + n_rot);
        take_lane(first, rank, n_rot, [&](int p) { return two_cached(h, at + p); });
    }
    const int n_warps = team.size * kWarps;
    for (int row = own_first + n_warps; row < position; row += n_warps) {
        const long long at = static_cast<long long>(row) * (rank + n_rot);
        ask_for_cached(h, at, rank + n_rot);
    }
    float2 own_weights = {};
    if (2 * t < rank) {
        own_weights = __ldg(reinterpret_cast<const float2*>(h.latent.other + 2 * t));
    }
    KeyRows<kKnown> keys;
    Angle own_angle = {}, query_angle = {};
    if (unit < call.nope_units) {
        keys.ask(h, head, unit);
    } else if (has_query) {
        const int pair = (unit - call.nope_units) * (kUnit / 2) + t % (kUnit / 2);
        query_angle = Angle::at(h, position, pair);
    }
    if (2 * t < n_rot) own_angle = Angle::at(h, position, t);
    wait_for_producers();
    // The token's own row is made where it is met, and stored by one block.
    const bool makes_row = team.rank == position % team.size || blockIdx.x == 0;
    float2 latent = {}, rot = {};
    if (makes_row) {
        if (2 * t < rank) latent = two_at(h.latent.x + 2 * t);
        if (2 * t < n_rot) rot = two_at(h.latent.x + rank + 2 * t);
    }
    if (t / 32 == 0) {
        if (call.query != nullptr && has_query) {
            const int n = h.query.n;
            const float own = norm_factor_of(call.query_squares, n / kGroup, n, h.query.eps);
            if (t == 0) factors[0] = own;
        }
    } else if (t / 32 == 1) {
        if (makes_row) {
            const float own = norm_factor_of(call.kv_squares, rank / kGroup, rank, h.latent.eps);
            if (t % 32 == 0) factors[1] = own;
        }
    } else if (call.query != nullptr && has_query) {
        take_handed(handed_at(room.query, h.query.n), call.query, h.query.n, 64);
    }
    __syncthreads();
    if (has_query) make_query<kKnown>(call, room, head, unit, values, factors[0], arrivals);
    if (makes_row) {
        make_own_row<kKnown>(call, room.row, position, factors[1], latent, own_weights, rot,
                             own_angle, blockIdx.x == 0);
    }
    __syncthreads();
    wait_in_cluster();  // nobody writes into a block that has not begun
    if (unit < call.nope_units) {
        absorb<kKnown>(call, room, head, unit, values, handed, keys, team);
    } else if (has_query) {
        turn(call, room, unit, values, query_angle, team);
    }
    team.meet();
    join_absorbed<kKnown>(call, room);
    __syncthreads();
    attend_share<kKnown>(call, room, position, first, team);
    team.meet();
    join_team<kKnown>(call, room, team);
    __syncthreads();
    make_values<kKnown>(call, room, head, values, arrivals + 1, team);
#endif
}

}  // namespace

void run_attention(const BlockDecode::Args& args) {
    const BlockScratch scratch = scratch_of(args);
    AttentionCall call = {};
    call.head = call_of(args.attention, false);
    call.query_units = (call.head.n_nope + call.head.n_rot) / kUnit;
    call.nope_units = call.head.n_nope / kUnit;
    if (args.shape.q_rank != 0) call.query = scratch.query;
    call.query_squares = scratch.query_squares;
    call.kv_squares = scratch.kv_squares;
    call.out = scratch.values;
    Room room = {};
    Size size;
    size.threads = kThreads;
    size.cluster = kAttentionTeam;
    size.blocks = static_cast<int>(args.shape.n_heads) * kAttentionTeam;
    size.shared_bytes = lay_out(call, nullptr, room);
    // The published models' widths with Q4_0 have a kernel of their own.
    const bool known = call.head.latent.n == kKnownRank && call.head.n_rot == kKnownRot &&
                       call.head.k_b.form == Form::q4_0 && call.head.v_b.form == Form::q4_0 &&
                       (call.query == nullptr || call.head.q_b.form == Form::q4_0);
    if (known) {
        launch(attention_kernel<true>, size, call);
    } else {
        launch(attention_kernel<false>, size, call);
    }
}

}  // namespace steady::cuda
