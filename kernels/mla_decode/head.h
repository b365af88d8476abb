// A head's way through the attention on a GPU: how a team of blocks shares its matrices' rows, and
// the small steps between its products. For .cu files alone.
#pragma once

#include <cuda_bf16.h>

#include <algorithm>

#include "kernels/cuda/cluster.h"
#include "kernels/cuda/rows.h"
#include "kernels/mla_decode/cuda.h"

namespace steady::cuda {

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / 32;
constexpr int kPairs = static_cast<int>(kMostRank) / 64;    // of a lane, of a row's latent
constexpr int kRotPairs = static_cast<int>(kMostRot) / 64;  // and of its rotated part
constexpr int kMostTeam = 8;                                // blocks of a head

enum class Value : int { f32, f16, bf16 };

struct MlaCall {
    Matrix q_b, k_b, v_b;
    bool ranked;     // the query comes before its norm and q_b
    Source query;    // ranked: [q_rank]
    const float* q;  // else [n_heads][head_size]
    Source latent;   // [kv_rank], normed
    int n_nope, n_rot, n_value;
    const float* cos;
    const float* sin;
    const int* position;
    unsigned char* cache;
    Value value;
    float scale;
    float* out;
};

// What a block keeps; [widest] is the longest vector that a product reads.
struct Memory {
    float* parts;  // [64]: for two sums
    Vector v;      // what the next product reads
    float* head;   // [head_size]: the query, written by all blocks
    float* query;  // [kv_rank + n_rot]: in latent space, written by all blocks
    float* row;    // [kv_rank + n_rot]: this token's, as the cache holds it
    float* sums;   // [kWarps][kv_rank]
    float* most;   // [kWarps][2]: largest score and Σ e^(score − largest)
    float* team;   // [kMostTeam][kv_rank + 2]: what each block's warps came to, from all of them
};

__host__ __device__ inline int rounded(int n) { return (n + 31) / 32 * 32; }

__host__ __device__ inline std::size_t memory_bytes(int widest, int head, int width, int rank) {
    return 64 * 4 + vector_bytes(widest, true) +
           4 * static_cast<std::size_t>(rounded(head) + 2 * rounded(width) +
                                        kWarps * rounded(rank) + 2 * kWarps +
                                        kMostTeam * (rounded(rank) + 2));
}

__device__ inline Memory memory_at(unsigned char* bytes, int widest, int head, int width,
                                   int rank) {
    Memory m;
    m.parts = reinterpret_cast<float*>(bytes);
    m.v = vector_at(bytes + 64 * 4, widest);
    m.head = reinterpret_cast<float*>(bytes + 64 * 4 + vector_bytes(widest, true));
    m.query = m.head + rounded(head);
    m.row = m.query + rounded(width);
    m.sums = m.row + rounded(width);
    m.most = m.sums + kWarps * rounded(rank);
    m.team = m.most + 2 * kWarps;
    return m;
}

// The blocks of a head. Without clusters there is one.
struct Team {
    int rank, size;

    __device__ static Team own() {
#if __CUDA_ARCH__ >= 900
        return {Cluster::rank(), Cluster::size()};
#else
        return {0, 1};
#endif
    }
    __device__ void meet() const {
#if __CUDA_ARCH__ >= 900
        if (size > 1) return Cluster::meet();
#endif
        __syncthreads();
    }
    // The same place in another block's shared memory.
    __device__ float* of(float* mine, int other) const {
#if __CUDA_ARCH__ >= 900
        if (size > 1) return Cluster::of(mine, other);
#endif
        return mine;
    }
};

// This team's share of a head's rows: lanes of a row, and which row a thread meets.
struct Deal {
    int lanes, rows_at_once, n, rank, size;

    __device__ Deal(int units, int rows, const Team& team) : rank(team.rank), size(team.size) {
        lanes = 32;
        while (lanes > 1 && lanes / 2 >= units) lanes /= 2;
        rows_at_once = kThreads / lanes;
        const int chunks = (rows + 7) / 8;
        const int own = (chunks - rank + size - 1) / size;
        n = own * 8;
        // The last chunk may be short.
        if (own > 0 && ((own - 1) * size + rank) * 8 + 8 > rows) {
            n -= ((own - 1) * size + rank) * 8 + 8 - rows;
        }
    }
    __device__ int lane() const { return static_cast<int>(threadIdx.x) % lanes; }
    __device__ int slot() const { return static_cast<int>(threadIdx.x) / lanes; }
    __device__ int row(int i) const { return (i / 8 * size + rank) * 8 + i % 8; }
};

// A unit of a form that is known when the kernel runs: for models whose three matrices differ.
struct AnyUnit {
    Form form;
    union {
        Unit<Form::floats> floats;
        Unit<Form::scalars> scalar;
        Unit<Form::q4_0> q4_0;
        Unit<Form::q5_k> q5_k;
        Unit<Form::q6_k> q6_k;
        Unit<Form::q8_0> q8_0;
    };

    template <class U>
    __device__ U& as() {
        return *reinterpret_cast<U*>(&floats);
    }
    __device__ void load(const RowParts& row, int u) {
        with_form(form, [&](auto unit) {
            unit.load(row, u);
            as<decltype(unit)>() = unit;
        });
    }
    __device__ float dot(const Vector& x, int u) {
        float sum = 0;
        with_form(form, [&](auto unit) { sum = as<decltype(unit)>().dot(x, u); });
        return sum;
    }
};

template <class U>
__device__ inline int units_of(const Matrix& m) {
    return U::units(m.cols);
}
template <>
__device__ inline int units_of<AnyUnit>(const Matrix& m) {
    int n = 0;
    with_form(m.form, [&](auto unit) { n = decltype(unit)::units(m.cols); });
    return n;
}
template <class U>
__device__ inline RowParts row_of(const Matrix& m, int row) {
    return U::row(m, row);
}
template <>
__device__ inline RowParts row_of<AnyUnit>(const Matrix& m, int row) {
    RowParts at = {};
    with_form(m.form, [&](auto unit) { at = decltype(unit)::row(m, row); });
    return at;
}
template <class U>
__device__ inline void set_form(U& /*unit*/, Form /*form*/) {}
template <>
__device__ inline void set_form<AnyUnit>(AnyUnit& unit, Form form) {
    unit.form = form;
}

// One of a head's products: rows first_row … + rows of the matrix. kHeld units of a thread are
// asked for before the wait: the first of each of its rows, or of its first row's where a row has
// more units than lanes. All loops over them are unrolled, so that they stay in registers.
template <class U, int kHeld>
struct HeadProduct {
    const Matrix& m;
    int first_row;
    Deal deal;
    int units;
    U held[kHeld];

    __device__ HeadProduct(const Matrix& matrix, int first, int rows, const Team& team)
        : m(matrix),
          first_row(first),
          deal(units_of<U>(matrix), rows, team),
          units(units_of<U>(matrix)) {
#pragma unroll
        for (int i = 0; i < kHeld; ++i) set_form(held[i], matrix.form);
    }

    __device__ bool several() const { return units > deal.lanes; }
    __device__ void ask() {
#pragma unroll
        for (int i = 0; i < kHeld; ++i) {
            const int r = deal.slot() + (several() ? 0 : i * deal.rows_at_once);
            const int u = deal.lane() + (several() ? i * deal.lanes : 0);
            if (r < deal.n && u < units) held[i].load(row_of<U>(m, first_row + deal.row(r)), u);
        }
    }
    // Of row r from unit u on, nothing asked for.
    __device__ float rest_of_row(const Vector& x, int r, int u) const {
        float sum = 0;
        const RowParts at = row_of<U>(m, first_row + deal.row(r));
        for (; u < units; u += deal.lanes) {
            U unit;
            set_form(unit, m.form);
            unit.load(at, u);
            sum += unit.dot(x, u);
        }
        return sum;
    }
    // put(row, value, lane, lanes) by all lanes of a row.
    template <class Put>
    __device__ void put_row(int r, float sum, Put put) const {
        for (int step = deal.lanes / 2; step > 0; step /= 2) {
            sum += __shfl_xor_sync(0xFFFFFFFFU, sum, step);
        }
        if (r < deal.n) put(deal.row(r), sum, deal.lane(), deal.lanes);
    }
    template <class Put>
    __device__ void finish(const Vector& x, Put put) {
        const int slot = deal.slot(), lane = deal.lane();
        int done = 1;
        if (several()) {
            float sum = 0;
            if (slot < deal.n) {
#pragma unroll
                for (int i = 0; i < kHeld; ++i) {
                    const int u = lane + i * deal.lanes;
                    if (u < units) sum += held[i].dot(x, u);
                }
                sum += rest_of_row(x, slot, lane + kHeld * deal.lanes);
            }
            put_row(slot, sum, put);
        } else {
            done = kHeld;
#pragma unroll
            for (int i = 0; i < kHeld; ++i) {
                const int r = slot + i * deal.rows_at_once;
                if (i * deal.rows_at_once >= deal.n) continue;
                put_row(r, r < deal.n && lane < units ? held[i].dot(x, lane) : 0.0F, put);
            }
        }
        for (int index = done; index * deal.rows_at_once < deal.n; ++index) {
            const int r = slot + index * deal.rows_at_once;
            put_row(r, r < deal.n ? rest_of_row(x, r, lane) : 0.0F, put);
        }
    }
};

// Two neighbouring values of a cached row.
__device__ inline float2 two_cached(const MlaCall& call, long long at) {
    if (call.value == Value::f32)
        return __ldcg(reinterpret_cast<const float2*>(call.cache) + at / 2);
    const unsigned bits = __ldcg(reinterpret_cast<const unsigned*>(call.cache) + at / 2);
    if (call.value == Value::bf16) {
        return {__uint_as_float(bits << 16), __uint_as_float(bits & 0xFFFF0000U)};
    }
    return {half_value(static_cast<unsigned short>(bits & 0xFFFFU)),
            half_value(static_cast<unsigned short>(bits >> 16))};
}

// What the cache will hold of a value.
__device__ inline float as_cached(Value value, float v) {
    if (value == Value::f16) return __half2float(__float2half_rn(v));
    return value == Value::bf16 ? __bfloat162float(__float2bfloat16_rn(v)) : v;
}

__device__ inline void put_cached(const MlaCall& call, long long at, float v) {
    if (call.value == Value::f32) {
        reinterpret_cast<float*>(call.cache)[at] = v;
    } else if (call.value == Value::f16) {
        reinterpret_cast<__half*>(call.cache)[at] = __float2half_rn(v);
    } else {
        reinterpret_cast<__nv_bfloat16*>(call.cache)[at] = __float2bfloat16_rn(v);
    }
}

// Pairs of `values` turned by the position's angles.
__device__ inline void rotate(const MlaCall& call, int position, const float* from, float* to) {
    for (int i = static_cast<int>(threadIdx.x); i < call.n_rot / 2; i += kThreads) {
        const float c = __ldg(call.cos + static_cast<long long>(position) * (call.n_rot / 2) + i);
        const float s = __ldg(call.sin + static_cast<long long>(position) * (call.n_rot / 2) + i);
        const float a = from[2 * i], b = from[2 * i + 1];
        to[2 * i] = a * c - b * s;
        to[2 * i + 1] = a * s + b * c;
    }
}

// This token's row: the latent normed, its rotary part turned, all rounded as the cache rounds. The
// cache gets it from one block.
__device__ inline void make_row(const MlaCall& call, const Memory& m, int position, bool store) {
    const int rank = call.latent.n, width = rank + call.n_rot;
    float squares = 0;
    for (int i = static_cast<int>(threadIdx.x); i < width; i += kThreads) {
        const float v = __ldcg(call.latent.x + i);
        m.row[i] = v;
        if (i < rank) squares += v * v;
    }
    const float mean = block_sum(squares, m.parts + 32) / static_cast<float>(rank);
    const float factor = rsqrtf(mean + call.latent.eps);
    __syncthreads();
    for (int i = static_cast<int>(threadIdx.x); i < rank; i += kThreads) {
        m.row[i] = as_cached(call.value, m.row[i] * factor * __ldg(call.latent.other + i));
    }
    rotate(call, position, m.row + rank, m.row + rank);
    __syncthreads();
    const long long first = static_cast<long long>(position) * width;
    for (int i = static_cast<int>(threadIdx.x); i < width; i += kThreads) {
        const float v = as_cached(call.value, m.row[i]);
        if (i >= rank) m.row[i] = v;
        if (store) put_cached(call, first + i, v);
    }
}

// Values of shared memory as the next product's vector.
__device__ inline void take_vector(const Vector& out, const float* from, int n, bool bytes) {
    for (int i = static_cast<int>(threadIdx.x); 4 * i < n; i += kThreads) {
        const auto at = [&](int j) { return 4 * i + j < n ? from[4 * i + j] : 0.0F; };
        reinterpret_cast<float4*>(out.f)[i] = {at(0), at(1), at(2), at(3)};
    }
    finish_vector(out, n, 1, nullptr, {}, bytes);
}

// A warp's softmax over its positions so far.
struct Running {
    float most = -INFINITY, total = 0;
    float2 sum[kPairs] = {};
};

// A lane's pairs of a row: pair lane + 32 i of the latent, then of the rotated part.
struct Lane {
    float2 latent[kPairs], rot[kRotPairs];
};

template <class Two>
__device__ inline void take_lane(Lane& out, int rank, int n_rot, Two two) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
    for (int i = 0; i < kPairs; ++i) {
        const int p = 2 * (lane + 32 * i);
        out.latent[i] = p < rank ? two(p) : float2{0, 0};
    }
#pragma unroll
    for (int i = 0; i < kRotPairs; ++i) {
        const int p = 2 * (lane + 32 * i);
        out.rot[i] = p < n_rot ? two(rank + p) : float2{0, 0};
    }
}

__device__ inline void attend(Running& run, const Lane& query, const Lane& row, float scale) {
    float score = 0;
#pragma unroll
    for (int i = 0; i < kPairs; ++i) {
        score += query.latent[i].x * row.latent[i].x + query.latent[i].y * row.latent[i].y;
    }
#pragma unroll
    for (int i = 0; i < kRotPairs; ++i) {
        score += query.rot[i].x * row.rot[i].x + query.rot[i].y * row.rot[i].y;
    }
    score = warp_sum(score) * scale;
    const float most = fmaxf(run.most, score);
    const float keep = __expf(run.most - most), weight = __expf(score - most);
    run.most = most;
    run.total = run.total * keep + weight;
#pragma unroll
    for (int i = 0; i < kPairs; ++i) {
        run.sum[i].x = run.sum[i].x * keep + weight * row.latent[i].x;
        run.sum[i].y = run.sum[i].y * keep + weight * row.latent[i].y;
    }
}

inline Value value_of(Type type) {
    return type == Type::f32 ? Value::f32 : type == Type::f16 ? Value::f16 : Value::bf16;
}

// What all kernels of a call are told.
MlaCall call_of(const MlaDecode::Args& args, bool as_floats);
// Shared memory of a block that takes a head, or a part of one.
std::size_t memory_of(const MlaDecodeShape& shape);

}  // namespace steady::cuda
