// The attention of a block: a head in one cluster of eight blocks, which meet twice. A block makes
// 32 of the head's query values and multiplies them at once with its columns of k_b, so that the
// absorbed query comes as sums from all blocks; positions are dealt out warp by warp, and their
// sums joined in every block, each of which makes its share of the head's values.
// For .cu files alone.
#pragma once

#include "kernels/block_decode/query.h"

namespace steady::cuda {

struct Room {
    unsigned char *q_rows, *v_rows, *query;  // two matrices' rows; the handed query
    float *row, *absorbed, *latent, *sums, *most, *team;
    unsigned char* v;  // handed: what v_b multiplies
};

// As Lane, of a cache of two bytes a value, as they lie there: half as many registers.
struct PackedLane {
    unsigned latent[kPairs], rot[kRotPairs];
};

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

#ifdef __CUDACC__
#if __CUDA_ARCH__ >= 900

// n cached values from `at` on into the second-level cache, by one warp.
__device__ inline void ask_for_cached(const MlaCall& h, long long at, int n) {
    const int size = h.value == Value::f32 ? 4 : 2;
    const unsigned char* from = h.cache + at * size;
    for (int i = 128 * (static_cast<int>(threadIdx.x) % 32); i < n * size; i += 128 * 32) {
        asm volatile("prefetch.global.L2 [%0];" ::"l"(from + i));
    }
}

// The block's query values turned, where they are of the rotary part: a thread turns one pair for
// one block.
__device__ inline void turn(const AttentionCall& c, const Room& room, int unit, const float* values,
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

__device__ inline float2 unpacked(Value value, unsigned bits) {
    if (value == Value::bf16) {
        return {__uint_as_float(bits << 16), __uint_as_float(bits & 0xFFFF0000U)};
    }
    return __half22float2(*reinterpret_cast<const __half2*>(&bits));
}
__device__ inline void unpack(Lane& out, const PackedLane& row, Value value) {
#pragma unroll
    for (int i = 0; i < kPairs; ++i) out.latent[i] = unpacked(value, row.latent[i]);
#pragma unroll
    for (int i = 0; i < kRotPairs; ++i) out.rot[i] = unpacked(value, row.rot[i]);
}
__device__ inline void unpack(Lane& out, const Lane& row, Value /*value*/) { out = row; }

// Cached row t.
template <bool kKnown>
__device__ void take_cached(Lane& out, const MlaCall& h, int t) {
    const int rank = rank_of<kKnown>(h), n_rot = rot_of<kKnown>(h);
    const long long at = static_cast<long long>(t) * (rank + n_rot);
    take_lane(out, rank, n_rot, [&](int p) { return two_cached(h, at + p); });
}
template <bool kKnown>
__device__ void take_cached(PackedLane& out, const MlaCall& h, int t) {
    static_assert(kKnown);
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const unsigned* row = reinterpret_cast<const unsigned*>(h.cache) +
                          static_cast<long long>(t) * ((kKnownRank + kKnownRot) / 2) + lane;
#pragma unroll
    for (int i = 0; i < kPairs; ++i) out.latent[i] = __ldcg(row + 32 * i);
#pragma unroll
    for (int i = 0; i < kRotPairs; ++i) {
        out.rot[i] = 64 * i < kKnownRot ? __ldcg(row + kKnownRank / 2 + 32 * i) : 0;
    }
}

// All positions' share of this block, then its sums in every block.
template <bool kKnown, class Row>
__device__ void attend_share(const AttentionCall& c, const Room& room, int position,
                             const Row& first, const Team& team) {
    const MlaCall& h = c.head;
    const int rank = rank_of<kKnown>(h), n_rot = rot_of<kKnown>(h);
    const auto from = [](const float* values) {
        return [values](int p) { return *reinterpret_cast<const float2*>(values + p); };
    };
    Lane query;
    Row cached = first;
    take_lane(query, rank, n_rot, from(room.latent));
    Running run;
    const int n_warps = team.size * kWarps, lane = static_cast<int>(threadIdx.x) % 32;
    const int warp = static_cast<int>(threadIdx.x) / 32;
#pragma unroll 1
    for (int t = warp * team.size + team.rank; t <= position; t += n_warps) {
        Lane row;
        if (t == position) {
            take_lane(row, rank, n_rot, from(room.row));
        } else {
            unpack(row, cached, h.value);
        }
        if (t + n_warps < position) take_cached<kKnown>(cached, h, t + n_warps);
        attend(run, query, row, h.scale);
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

#endif

template <bool kKnown, class Row, int kEnough>
struct AttentionBody {
    using Call = AttentionCall;
    static constexpr int kThreads = cuda::kThreads, kBlocks = kEnough, kArrivals = 2;
    struct Kept {
        Arrival arrivals[2];
        float factors[2];  // of the query's norm, of the latent's
        alignas(16) float values[kUnit];
        alignas(16) unsigned char handed[kWarps * 48];
    };

    template <class Place>
    __device__ __forceinline__ static void run(const Call& call, Kept& kept, uint4* memory,
                                               const Place& place) {
#if __CUDA_ARCH__ >= 900
        Arrival* arrivals = kept.arrivals;
        float *factors = kept.factors, *values = kept.values;
        unsigned char* handed = kept.handed;
        if (!call.late) place.let_consumers_start();
        const MlaCall& h = call.head;
        const Team team = Team::own();
        const int head = place.block() / team.size, unit = team.rank;
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
        Row first = {};
        if (own_first < position) take_cached<kKnown>(first, h, own_first);
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
        place.wait();
        if (call.late) place.let_consumers_start();
        // The token's own row is made where it is met, and stored by one block.
        const bool makes_row = team.rank == position % team.size || place.block() == 0;
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
                const float own =
                    norm_factor_of(call.kv_squares, rank / kGroup, rank, h.latent.eps);
                if (t % 32 == 0) factors[1] = own;
            }
        } else if (call.query != nullptr && has_query) {
            take_handed(handed_at(room.query, h.query.n), call.query, h.query.n, 64);
        }
        __syncthreads();
        if (has_query)
            make_query<kKnown>(call, room.q_rows, room.query, head, unit, values, factors[0],
                               arrivals);
        if (makes_row) {
            make_own_row<kKnown>(call, room.row, position, factors[1], latent, own_weights, rot,
                                 own_angle, place.block() == 0);
        }
        __syncthreads();
        wait_in_cluster();  // nobody writes into a block that has not begun
        if (unit < call.nope_units) {
            absorb<kKnown>(h, head, unit, values, handed, keys, [&](int r, float sum) {
                for (int b = 0; b < team.size; ++b)
                    team.of(room.absorbed + unit * rank, b)[r] = sum;
            });
        } else if (has_query) {
            turn(call, room, unit, values, query_angle, team);
        }
        team.meet();
        join_absorbed<kKnown>(call, room);
        __syncthreads();
        attend_share<kKnown, Row>(call, room, position, first, team);
        team.meet();
        join_team<kKnown>(call, room, team);
        __syncthreads();
        make_values<kKnown>(call, room.v_rows, handed_at(room.v, rank), head,
                            place.blocks() / team.size, team.rank, values, arrivals + 1);
#endif
    }
};

#endif

}  // namespace steady::cuda
