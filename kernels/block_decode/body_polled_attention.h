// The attention of a block near the beginning of a text, where kernels look for their vectors
// (polled.h). A head in one cluster of eight blocks, which never meet. A block makes 32 of the
// head's query values and sends them to all, has 64 of the latent's columns of everything else:
// of the query in latent space, of the cached rows and of v_b; what its columns add to each score,
// and to each of the head's values, it sends to who needs it. For .cu files alone.
#pragma once

#include "kernels/block_decode/polled.h"
#include "kernels/block_decode/query.h"

namespace steady::cuda {

struct PolledAttentionCall {
    AttentionCall of;  // its handed places are those below
    bool fresh;        // the query comes with the end of the kernel before
    const unsigned char* query;
    const float *query_squares, *query_whole, *kv, *kv_squares;
    unsigned char* values;
    int n_places;  // positions that there is room for, a multiple of four
    uint4* clear;  // the other set
    int n_clear;
};

constexpr int kColumnsOfBlock = kKnownRank / kAttentionTeam;  // of the latent
constexpr int kTurnedOfBlock = kKnownRot / kAttentionTeam;    // of the rotary part
constexpr int kOfRow = kColumnsOfBlock + kTurnedOfBlock;      // values of a cached row
constexpr int kMostPlaces = 512;                              // positions, this one included
static_assert(kColumnsOfBlock == 64 && kTurnedOfBlock == 8 && kWarps == kAttentionTeam);

struct PolledRoom {
    unsigned char *q_rows, *query;
    float* scores;        // [kAttentionTeam][n_places]: of each block's columns
    unsigned char* rows;  // [n_places][kOfRow] of the cache's type
};
__host__ __device__ inline std::size_t lay_out(const AttentionCall& c, bool has_rank, int n_places,
                                               unsigned char* memory, PolledRoom& room) {
    unsigned char* at = memory;
    const auto take = [&](std::size_t n) {
        unsigned char* begin = at;
        at += (n + 15) / 16 * 16;
        return begin;
    };
    room.q_rows = take(has_rank ? 4 * chunk_bytes(c.head.q_b.form, c.head.query.n) : 0);
    room.query = take(has_rank ? handed_bytes(c.head.query.n) : 0);
    room.scores = reinterpret_cast<float*>(take(sizeof(float) * kAttentionTeam * n_places));
    room.rows = take(std::size_t{2} * n_places * kOfRow);
    return static_cast<std::size_t>(at - memory);
}

#ifdef __CUDACC__
#if __CUDA_ARCH__ >= 900

__device__ inline void copy_16(void* to, const void* from) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(in_shared(to)), "l"(from)
                 : "memory");
}

// As send(), of four words at a multiple of 16 bytes.
__device__ inline void send_four(float* mine, Arrival* arrival, int other, const float4& v) {
    asm volatile(
        "{ .reg .b32 to, at; mapa.shared::cluster.u32 to, %0, %2; mapa.shared::cluster.u32 at, %1, "
        "%2; st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [to], {%3, %4, %5, "
        "%6}, [at]; }" ::"r"(in_shared(mine)),
        "r"(in_shared(arrival)), "r"(other), "r"(__float_as_uint(v.x)), "r"(__float_as_uint(v.y)),
        "r"(__float_as_uint(v.z)), "r"(__float_as_uint(v.w))
        : "memory");
}

template <class T>
__device__ float2 two_of(unsigned bits);
template <>
__device__ inline float2 two_of<__half>(unsigned bits) {
    return __half22float2(*reinterpret_cast<const __half2*>(&bits));
}
template <>
__device__ inline float2 two_of<__nv_bfloat16>(unsigned bits) {
    return {__uint_as_float(bits << 16), __uint_as_float(bits & 0xFFFF0000U)};
}
__device__ inline unsigned two_bits(__half, float2 v) {
    const __half2 both = __floats2half2_rn(v.x, v.y);
    return *reinterpret_cast<const unsigned*>(&both);
}
__device__ inline unsigned two_bits(__nv_bfloat16, float2 v) {
    const __nv_bfloat162 both = __floats2bfloat162_rn(v.x, v.y);
    return *reinterpret_cast<const unsigned*>(&both);
}

// Eight values times eight, and eight values' shares.
template <class T>
__device__ float dot_eight(float sum, const float* a, const uint4& bits) {
    const unsigned words[4] = {bits.x, bits.y, bits.z, bits.w};
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        const float2 v = two_of<T>(words[i]);
        sum += a[2 * i] * v.x;
        sum += a[2 * i + 1] * v.y;
    }
    return sum;
}
template <class T>
__device__ void add_eight_of(float (&sum)[8], float weight, const uint4& bits) {
    const unsigned words[4] = {bits.x, bits.y, bits.z, bits.w};
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        const float2 v = two_of<T>(words[i]);
        sum[2 * i] += weight * v.x;
        sum[2 * i + 1] += weight * v.y;
    }
}

// 32 query values in eight lanes of each warp, which sends them to one block: unit `unit` of the
// head's query as a handed vector.
__device__ inline void send_query(const Handed& to, Arrival* arrival, int unit, float4 v) {
    const int lane = static_cast<int>(threadIdx.x) % 32, i = lane % 8;
    const int block = static_cast<int>(threadIdx.x) / 32;
    float most = fmaxf(fmaxf(fabsf(v.x), fabsf(v.y)), fmaxf(fabsf(v.z), fabsf(v.w)));
    most = fmaxf(most, __shfl_xor_sync(0xFFFFFFFFU, most, 1));
    most = fmaxf(most, __shfl_xor_sync(0xFFFFFFFFU, most, 2));
    const float inverse = most > 0 ? 127.0F / most : 0.0F, scale = most / 127.0F;
    const unsigned word = signed_byte(v.x * inverse) | signed_byte(v.y * inverse) << 8 |
                          signed_byte(v.z * inverse) << 16 | signed_byte(v.w * inverse) << 24;
    int sum = __dp4a(static_cast<int>(word), 0x01010101, 0);
    sum += __shfl_xor_sync(0xFFFFFFFFU, sum, 1);
    sum += __shfl_xor_sync(0xFFFFFFFFU, sum, 2);
    if (lane >= 8) return;
    const int half = i / 4;
    auto* words = reinterpret_cast<float*>((half == 0 ? to.low : to.high) + unit);
    send(words + i % 4, arrival, block, __uint_as_float(word));
    if (i % 4 >= 2) return;
    auto* s = reinterpret_cast<float*>(to.s + unit);
    send(s + half + 2 * (i % 4), arrival, block,
         i % 4 == 0 ? scale : scale * static_cast<float>(sum));
}

// The block's columns of this token's row, by one warp: the latent normed, the rotary part turned,
// both rounded as the cache rounds. A lane below 16 makes four of the latent, two more the rest.
template <class T>
__device__ void make_columns(const PolledAttentionCall& call, T* own, int unit, int position,
                             float4 weights, const Angle (&angles)[2], bool store) {
    const MlaCall& h = call.of.head;
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const bool turns = lane >= 16;
    const int first = turns ? kKnownRank + unit * kTurnedOfBlock + 4 * (lane - 16)
                            : unit * kColumnsOfBlock + 4 * lane;
    float4 v = {0, 0, 0, 0};
    if (lane < 18) v = polled_four(call.kv + first);
    constexpr int kGroups = kKnownRank / kGroup;
    const float factor = polled_factor(call.kv_squares + unit % kFewCopies * kGroups, kGroups,
                                       kKnownRank, h.latent.eps);
    if (lane >= 18) return;
    if (turns) {
        const float2 a = angles[0].turn({v.x, v.y}), b = angles[1].turn({v.z, v.w});
        v = {a.x, a.y, b.x, b.y};
    } else {
        v = {v.x * factor * weights.x, v.y * factor * weights.y, v.z * factor * weights.z,
             v.w * factor * weights.w};
    }
    const uint2 bits = {two_bits(T{}, {v.x, v.y}), two_bits(T{}, {v.z, v.w})};
    *reinterpret_cast<uint2*>(own + 4 * lane) = bits;
    if (!store) return;
    const long long row = static_cast<long long>(position) * (kKnownRank + kKnownRot);
    *reinterpret_cast<uint2*>(reinterpret_cast<T*>(h.cache) + row + first) = bits;
}

#endif

template <class T>
struct PolledAttentionBody {
    using Call = PolledAttentionCall;
    static constexpr int kThreads = cuda::kThreads, kBlocks = 3, kArrivals = 4;
    struct Kept {
        Arrival arrivals[4];  // of q_b's rows; of the query, of scores, of values from all blocks
        float factor;
        alignas(16) float values[kUnit];
        alignas(16) unsigned char query[kAttentionTeam * 48];
        alignas(16) float turned[kTurnedOfBlock];
        alignas(16) float absorbed[kColumnsOfBlock];
        float weights[kMostPlaces], most[kMostPlaces / 32];
        alignas(16) float latent[kColumnsOfBlock];
        alignas(16) unsigned char handed[kWarps][kColumnsOfBlock / 32 * 48];
        float received[2 * kAttentionTeam][kThreads / kAttentionTeam];
        alignas(16) float out[kThreads / kAttentionTeam];
    };

    template <class Place>
    __device__ __forceinline__ static void run(const Call& call, Kept& kept, uint4* memory,
                                               const Place& place) {
#if __CUDA_ARCH__ >= 900
        const AttentionCall& c = call.of;
        const MlaCall& h = c.head;
        Arrival* arrivals = kept.arrivals;
        const Team team = Team::own();
        const int t = static_cast<int>(threadIdx.x), lane = t % 32, warp = t / 32;
        const int head = place.block() / kAttentionTeam, unit = team.rank;
        const int n_heads = place.blocks() / kAttentionTeam;
        const bool has_query = unit < c.query_units, ranked = c.query != nullptr;
        PolledRoom room;
        lay_out(c, ranked, call.n_places, reinterpret_cast<unsigned char*>(memory), room);
        if (t == 0) {
            make_arrivals(arrivals, 4);
            if (has_query && ranked) {
                expect(arrivals, q_bytes_of(c));
                ask_rows(room.q_rows, h.q_b,
                         static_cast<long long>(head) * (h.n_nope + h.n_rot) + unit * kUnit, kUnit,
                         arrivals);
            }
        }
        const int position = __ldcg(h.position), n = position + 1;
        if (n > call.n_places) __trap();
        if (t == 0) {
            expect(arrivals + 1, c.nope_units * 48 + kTurnedOfBlock * 4);
            expect(arrivals + 2, (kAttentionTeam - 1) * ((n + 3) / 4 * 16));
            expect(arrivals + 3, kThreads * 4);
        }
        __syncwarp();
        arrive_in_cluster();
        // What does not depend on this token: the cache's rows, and the block's columns of k_b and
        // of v_b. A row of k_b has four threads.
        const T* cache = reinterpret_cast<const T*>(h.cache);
        T* near = reinterpret_cast<T*>(room.rows);
        for (int i = t; i < 9 * position; i += kThreads) {
            const int p = i / 9, part = i % 9;
            const T* row = cache + static_cast<long long>(p) * (kKnownRank + kKnownRot);
            copy_16(near + p * kOfRow + 8 * part,
                    row + (part < 8 ? unit * kColumnsOfBlock + 8 * part
                                    : kKnownRank + unit * kTurnedOfBlock));
        }
        const int sub = t % 4;
        Unit<Form::q4_0> keys[2], rows[2];
        const RowParts key =
            Unit<Form::q4_0>::row(h.k_b, head * kKnownRank + unit * kColumnsOfBlock + t / 4);
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            if (sub + 4 * i < c.nope_units) keys[i].load(key, sub + 4 * i);
        }
        // A thread multiplies both units of a row of v_b, or one where there are half as many rows.
        const bool whole = h.n_value == kThreads;
        const int row = t & (h.n_value - 1), half = whole ? 0 : t / (kThreads / 2);
        const RowParts value_row = Unit<Form::q4_0>::row(h.v_b, head * h.n_value + row);
        rows[0].load(value_row, 2 * unit + half);
        if (whole) rows[1].load(value_row, 2 * unit + 1);
        Angle angles[2] = {};
        float4 weights = {};
        if (warp == 1 && lane < 16) {
            weights = __ldg(reinterpret_cast<const float4*>(h.latent.other) +
                            unit * kColumnsOfBlock / 4 + lane);
        } else if (warp == 1 && lane < 18) {
            const int pair = unit * (kTurnedOfBlock / 2) + 2 * (lane - 16);
            angles[0] = Angle::at(h, position, pair);
            angles[1] = Angle::at(h, position, pair + 1);
        } else if (warp == 0 && has_query && unit >= c.nope_units) {
            angles[0] = Angle::at(h, position, (unit - c.nope_units) * (kUnit / 2) + lane / 2);
        }
        if (call.fresh) place.wait();
        const int copy = head % kFewCopies, rank_groups = h.query.n / kGroup;
        if (warp == 0 && has_query) {
            if (ranked) {
                const float own = polled_factor(call.query_squares + copy * rank_groups,
                                                rank_groups, h.query.n, h.query.eps);
                if (lane == 0) kept.factor = own;
            } else if (lane < kUnit / 4) {
                const float* from = call.query_whole + head * (h.n_nope + h.n_rot) + unit * kUnit;
                reinterpret_cast<float4*>(kept.values)[lane] = polled_four(from + 4 * lane);
            }
        } else if (warp == 1) {
            make_columns<T>(call, near + position * kOfRow, unit, position, weights, angles,
                            head == 0);
        } else if (warp > 1 && has_query && ranked) {
            take_polled(handed_at(room.query, h.query.n),
                        call.query + copy * handed_bytes(h.query.n), h.query.n, 64);
        }
        asm volatile("cp.async.wait_all;" ::: "memory");
        __syncthreads();
        if (t == 0) place.let_consumers_start();
        if (has_query && ranked) {
            make_query<true>(c, room.q_rows, room.query, head, unit, kept.values, kept.factor,
                             arrivals);
            __syncthreads();
        }
        wait_in_cluster();  // nobody writes into a block that has not begun
        const Handed query = handed_at(kept.query, c.nope_units * kUnit);
        if (unit < c.nope_units) {
            send_query(query, arrivals + 1, unit,
                       reinterpret_cast<const float4*>(kept.values)[lane % 8]);
        } else if (has_query && warp == 0) {
            const float2 turned = angles[0].turn({kept.values[lane & 30], kept.values[lane | 1]});
            const int column = (unit - c.nope_units) * kUnit + lane;
            send(kept.turned + column % kTurnedOfBlock, arrivals + 1, column / kTurnedOfBlock,
                 lane % 2 == 0 ? turned.x : turned.y);
        }
        await_sent(arrivals + 1);
        float sum = 0;
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            if (sub + 4 * i < c.nope_units) {
                sum += dot(keys[i], HandedUnit::at(query, sub + 4 * i));
            }
        }
        sum += __shfl_xor_sync(0xFFFFFFFFU, sum, 1);
        sum += __shfl_xor_sync(0xFFFFFFFFU, sum, 2);
        if (sub == 0) kept.absorbed[t / 4] = sum;
        __syncthreads();
        // A position has four threads. Then each warp sends all of the block's scores to one block.
        float* own_scores = room.scores + unit * call.n_places;
        float absorbed[16];
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            *reinterpret_cast<float4*>(absorbed + 4 * i) =
                *reinterpret_cast<const float4*>(kept.absorbed + 16 * sub + 4 * i);
        }
        const float2 turned = *reinterpret_cast<const float2*>(kept.turned + 2 * sub);
#pragma unroll 1
        for (int base = 0; base < n; base += kThreads / 4) {
            const int p = base + t / 4;
            float score = 0;
            if (p < n) {
                const T* columns = near + p * kOfRow;
                const auto* own = reinterpret_cast<const uint4*>(columns + 16 * sub);
                score = dot_eight<T>(score, absorbed, own[0]);
                score = dot_eight<T>(score, absorbed + 8, own[1]);
                const float2 v = two_of<T>(
                    *reinterpret_cast<const unsigned*>(columns + kColumnsOfBlock + 2 * sub));
                score += turned.x * v.x + turned.y * v.y;
            }
            score += __shfl_xor_sync(0xFFFFFFFFU, score, 1);
            score += __shfl_xor_sync(0xFFFFFFFFU, score, 2);
            if (sub == 0 && p < n) own_scores[p] = score;
        }
        __syncthreads();
        if (warp != unit) {
            for (int p = 4 * lane; p < n; p += 128) {
                send_four(own_scores + p, arrivals + 2, warp,
                          *reinterpret_cast<const float4*>(own_scores + p));
            }
        }
        // The kernel before has ended long since; what it knew to have ended, all may rely on that
        // see this block's values.
        if (!call.fresh && place.block() == 0) place.wait();
        await_sent(arrivals + 2);
        // A thread makes a position's weight, as yet over its warp's largest score; then a lane has
        // every 32nd position, and a warp eight columns.
#pragma unroll 1
        for (int base = 32 * warp; base < n; base += kThreads) {
            const int p = base + lane;
            float score = -INFINITY;
            if (p < n) {
                float part[kAttentionTeam];
#pragma unroll
                for (int b = 0; b < kAttentionTeam; ++b) {
                    part[b] = room.scores[b * call.n_places + p];
                }
                score = h.scale * (((part[0] + part[1]) + (part[2] + part[3])) +
                                   ((part[4] + part[5]) + (part[6] + part[7])));
            }
            const float most = out_of_order(__reduce_max_sync(0xFFFFFFFFU, in_order(score)));
            if (p < n) kept.weights[p] = __expf(score - most);
            if (lane == 0) kept.most[base / 32] = most;
        }
        __syncthreads();
        const int n_most = (n + 31) / 32;
        const float own_most = lane < n_most ? kept.most[lane] : -INFINITY;
        const float largest = out_of_order(__reduce_max_sync(0xFFFFFFFFU, in_order(own_most)));
        const float own_share = __expf(own_most - largest);
        float total = 0, sums[8] = {};
#pragma unroll 1
        for (int i = 0; i < n_most; ++i) {
            const float share = __shfl_sync(0xFFFFFFFFU, own_share, i);
            const int p = 32 * i + lane;
            if (p < n) {
                const float weight = share * kept.weights[p];
                total += weight;
                add_eight_of<T>(sums, weight,
                                *reinterpret_cast<const uint4*>(near + p * kOfRow + 8 * warp));
            }
        }
        total = warp_sum(total);
        // Halves of the lanes exchange halves of the columns, until each has one.
        float four[4], two[2];
        const bool upper = lane & 16, second = lane & 8, third = lane & 4;
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            const float keep = upper ? sums[4 + i] : sums[i];
            four[i] = keep + __shfl_xor_sync(0xFFFFFFFFU, upper ? sums[i] : sums[4 + i], 16);
        }
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            const float keep = second ? four[2 + i] : four[i];
            two[i] = keep + __shfl_xor_sync(0xFFFFFFFFU, second ? four[i] : four[2 + i], 8);
        }
        float one = third ? two[1] : two[0];
        one += __shfl_xor_sync(0xFFFFFFFFU, third ? two[0] : two[1], 4);
        one += __shfl_xor_sync(0xFFFFFFFFU, one, 2);
        one += __shfl_xor_sync(0xFFFFFFFFU, one, 1);
        if (lane % 4 == 0) {
            kept.latent[8 * warp + (upper ? 4 : 0) + (second ? 2 : 0) + (third ? 1 : 0)] =
                __fdividef(one, total);
        }
        __syncthreads();
        // Each warp for itself, into memory of its own.
        const Handed latent = handed_at(kept.handed[warp], kColumnsOfBlock);
        put_four(latent, lane % 16, reinterpret_cast<const float4*>(kept.latent)[lane % 16],
                 lane < 16);
        __syncwarp();
        float value = dot(rows[0], HandedUnit::at(latent, half));
        if (whole) value += dot(rows[1], HandedUnit::at(latent, 1));
        const int n_rows = h.n_value / kAttentionTeam, threads_of_row = whole ? 1 : 2;
        send(&kept.received[unit * threads_of_row + half][row & (n_rows - 1)], arrivals + 3,
             row / n_rows, value);
        if (!whole) __syncwarp();
        await_sent(arrivals + 3);
        if (warp < n_rows / kGroup) {
            const int n_parts = kAttentionTeam * threads_of_row;
            const float* from = &kept.received[0][warp * kGroup + lane % kGroup];
            constexpr int kStride = kThreads / kAttentionTeam;
            float all = 0;
#pragma unroll 4
            for (int i = lane / kGroup; i < n_parts; i += 2) all += from[i * kStride];
            all += __shfl_xor_sync(0xFFFFFFFFU, all, 16);
            float* out = kept.out + warp * kGroup;
            if (lane < kGroup) out[lane] = all;
            __syncwarp();
            const int group = (head * h.n_value + unit * n_rows) / kGroup + warp;
            hand_polled({call.values, nullptr, n_heads * h.n_value}, kFewCopies, group, out,
                        {1, 1, 1, 1});
        }
        place.wait();
        clear(call.clear, call.n_clear, place);
#endif
    }
};

#endif

}  // namespace steady::cuda
