// The first of the three steps of attention deep in a text (body_tiles.h): queries in latent
// space, and this token's row of the cache. For .cu files alone.
#pragma once

#include "kernels/block_decode/query.h"
#include "kernels/mla_decode/tiles.h"

namespace steady::cuda {

struct QueryCall {
    AttentionCall attention;
    float* out;      // of the cache's type
    bool in_pieces;  // else [n_heads][rank + rot]
};

// What a head's query in latent space is made from, in shared memory.
struct QueryRoom {
    unsigned char *q_rows, *query;
    float *row, *absorbed;
};

__host__ __device__ inline std::size_t lay_out(const AttentionCall& c, unsigned char* memory,
                                               QueryRoom& room) {
    unsigned char* at = memory;
    const auto take = [&](std::size_t n) {
        unsigned char* begin = at;
        at += (n + 15) / 16 * 16;
        return begin;
    };
    room.q_rows = take(static_cast<std::size_t>(q_bytes_of(c)));
    room.query = take(c.query == nullptr ? 0 : handed_bytes(c.head.query.n));
    room.row = reinterpret_cast<float*>(take(4 * (kKnownRank + kKnownRot)));
    room.absorbed = reinterpret_cast<float*>(
        take(4 * static_cast<std::size_t>(c.nope_units * (c.head.latent.n / kAttentionTeam))));
    return static_cast<std::size_t>(at - memory);
}

#ifdef __CUDACC__

// A head in a cluster of eight blocks, as in AttentionBody; a block sums its share of columns.
template <class T, bool kAllQ4>
struct QueryBody {
    using Call = QueryCall;
    static constexpr int kThreads = cuda::kThreads, kBlocks = 4, kArrivals = 2;
    struct Kept {
        Arrival arrivals[2];  // of the rows, of what other blocks send
        float factors[2];     // of the query's norm, of the latent's
        alignas(16) float values[kUnit];
        alignas(16) unsigned char handed[kWarps * 48];
    };

    template <class Place>
    __device__ __forceinline__ static void run(const Call& query, Kept& kept, uint4* memory,
                                               const Place& place) {
#if __CUDA_ARCH__ >= 900
        Arrival& arrival = kept.arrivals[0];
        float *factors = kept.factors, *values = kept.values;
        unsigned char* handed = kept.handed;
        const AttentionCall& call = query.attention;
        T* out = reinterpret_cast<T*>(query.out);
        if (!call.late) place.let_consumers_start();
        const MlaCall& h = call.head;
        const Team team = Team::own();
        const int t = static_cast<int>(threadIdx.x), warp = t / 32;
        const int head = place.block() / team.size, unit = team.rank;
        QueryRoom room;
        lay_out(call, reinterpret_cast<unsigned char*>(memory), room);
        const bool has_query = unit < call.query_units;
        constexpr int kShare = kKnownRank / kAttentionTeam;
        if (t == 0) {
            make_arrivals(kept.arrivals, 2);
            expect(kept.arrivals + 1, call.nope_units * kShare * 4);
            if (has_query && call.query != nullptr) {
                expect(&arrival, q_bytes_of(call));
                ask_rows(room.q_rows, h.q_b,
                         static_cast<long long>(head) * (h.n_nope + h.n_rot) + unit * kUnit, kUnit,
                         &arrival);
            }
        }
        __syncwarp();
        arrive_in_cluster();
        const int position = __ldcg(h.position);
        KeyRows<kAllQ4> keys;
        Angle own_angle = {}, query_angle = {};
        if (unit < call.nope_units) {
            keys.ask(h, head, unit);
        } else if (has_query) {
            const int pair = (unit - call.nope_units) * (kUnit / 2) + t % (kUnit / 2);
            query_angle = Angle::at(h, position, pair);
        }
        const bool makes_row = place.block() == 0;
        float2 own_weights = {};
        if (makes_row) {
            own_weights = __ldg(reinterpret_cast<const float2*>(h.latent.other) + t);
            if (2 * t < kKnownRot) own_angle = Angle::at(h, position, t);
        }
        const int n_heads = place.blocks() / team.size;
        const auto put = [&](int column, float2 v) {
            int at = head * (kKnownRank + kKnownRot) + column;
            if (query.in_pieces) at = place_in_pieces(column, head, n_heads);
            put_two(out + at, v);
        };
        place.wait();
        if (call.late) place.let_consumers_start();
        float2 latent = {}, rot = {};
        if (makes_row) {
            latent = two_at(h.latent.x + 2 * t);
            if (2 * t < kKnownRot) rot = two_at(h.latent.x + kKnownRank + 2 * t);
        }
        if (warp == 0) {
            if (call.query != nullptr && has_query) {
                const int n = h.query.n;
                const float own = norm_factor_of(call.query_squares, n / kGroup, n, h.query.eps);
                if (t == 0) factors[0] = own;
            }
        } else if (warp == 1 && makes_row) {
            const float own =
                norm_factor_of(call.kv_squares, kKnownRank / kGroup, kKnownRank, h.latent.eps);
            if (t % 32 == 0) factors[1] = own;
        } else if (warp > 1 && call.query != nullptr && has_query) {
            take_handed(handed_at(room.query, h.query.n), call.query, h.query.n, 64);
        }
        __syncthreads();
        if (has_query) {
            make_query<kAllQ4>(call, room.q_rows, room.query, head, unit, values, factors[0],
                               &arrival);
        }
        __syncthreads();
        wait_in_cluster();  // nobody writes into a block that has not begun
        if (unit < call.nope_units) {
            absorb<kAllQ4>(h, head, unit, values, handed, keys, [&](int r, float sum) {
                send(room.absorbed + unit * kShare + r % kShare, kept.arrivals + 1, r / kShare,
                     sum);
            });
        } else if (has_query && t < kUnit / 2) {
            put(kKnownRank + (unit - call.nope_units) * kUnit + 2 * t,
                query_angle.turn({values[2 * t], values[2 * t + 1]}));
        }
        __syncwarp();
        if (makes_row) {
            make_own_row<true>(call, room.row, position, factors[1], latent, own_weights, rot,
                               own_angle, true);
        }
        await_sent(kept.arrivals + 1);
        if (t < kShare / 2) {
            float2 sum = {0, 0};
            for (int u = 0; u < call.nope_units; ++u) {
                const float2 v =
                    *reinterpret_cast<const float2*>(room.absorbed + u * kShare + 2 * t);
                sum = {sum.x + v.x, sum.y + v.y};
            }
            put(team.rank * kShare + 2 * t, sum);
        }
#endif
    }
};

#endif

}  // namespace steady::cuda
