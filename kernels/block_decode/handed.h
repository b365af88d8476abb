// How the kernels of a block hand each other vectors, and read their weights. A vector is handed
// over as bytes in units of 32 with a scale for each half, which is the 16 values that a block of
// threads makes: nobody else is needed to find its scale. A norm's own factor is left out, and
// comes in behind the product, from the sums of squares that go along. Weights are whole chunks of
// planes that the copy engine brings into shared memory, most of them before the vector is there.
// For .cu files alone.
#pragma once

#include "kernels/cuda/vectors.h"

namespace steady::cuda {

constexpr int kGroup = 16;  // rows that a block of threads makes, and values of a scale

// What a copy by the engine completes on, in shared memory.
using Arrival = unsigned long long;

// Bytes of a handed vector of n values.
__host__ __device__ inline std::size_t handed_bytes(std::int64_t n) {
    return static_cast<std::size_t>(n / 32 * 48);
}
// Bytes of a chunk of planes: eight rows.
__host__ __device__ inline int chunk_bytes(Form form, int cols) {
    const int units = cols / 32;
    switch (form) {
        case Form::q4_0:
            return 8 * 18 * units;
        case Form::q5_k:
            return 8 * 22 * units + 4 * units;
        case Form::q6_k:
            return 8 * 26 * units + 2 * units;
        default:
            return 8 * 34 * units;
    }
}

#ifdef __CUDACC__

struct Handed {
    uint4* low;
    uint4* high;
    float4* s;  // scales of the two halves; each times the sum of its half
};

__host__ __device__ inline Handed handed_at(void* memory, int n) {
    auto* low = static_cast<uint4*>(memory);
    return {low, low + n / 32, reinterpret_cast<float4*>(low + n / 16)};
}

// A handed vector of n values from global memory to shared memory, by all threads of the block from
// `first` on.
__device__ inline void take_handed(const Handed& to, const unsigned char* from, int n,
                                   int first = 0) {
    const auto* words = reinterpret_cast<const uint4*>(from);
    const int threads = static_cast<int>(blockDim.x) - first;
#pragma unroll 4
    for (int i = static_cast<int>(threadIdx.x) - first; i < 3 * n / 32; i += threads) {
        to.low[i] = __ldcg(words + i);
    }
}

// A norm's factor from n squares, written by kernels before this one; by one warp of a block, since
// what all warps of all blocks ask for at once waits in line at the cache.
__device__ inline float norm_factor_of(const float* squares, int n, int values, float eps) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    float sum = 0;
    if (n % 4 != 0) {
        for (int i = lane; i < n; i += 32) sum += __ldcg(squares + i);
    } else {
        for (int i = lane; i < n / 4; i += 32) {
            const float4 v = __ldcg(reinterpret_cast<const float4*>(squares) + i);
            sum += v.x + v.y + v.z + v.w;
        }
    }
    return rsqrtf(warp_sum(sum) / static_cast<float>(values) + eps);
}

__device__ inline unsigned signed_byte(float value) {
    return static_cast<unsigned>(max(-127, min(127, __float2int_rn(value)))) & 0xFFU;
}

// Four values of a vector of which neighbouring lanes hold four more each, to bytes: value 4i … of
// the vector. All lanes of the warp call it; `valid` is the same for four neighbours.
__device__ inline void put_four(const Handed& out, int i, float4 v, bool valid) {
    float most = fmaxf(fmaxf(fabsf(v.x), fabsf(v.y)), fmaxf(fabsf(v.z), fabsf(v.w)));
    most = fmaxf(most, __shfl_xor_sync(0xFFFFFFFFU, most, 1));
    most = fmaxf(most, __shfl_xor_sync(0xFFFFFFFFU, most, 2));
    const float inverse = most > 0 ? 127.0F / most : 0.0F, scale = most / 127.0F;
    const unsigned word = signed_byte(v.x * inverse) | signed_byte(v.y * inverse) << 8 |
                          signed_byte(v.z * inverse) << 16 | signed_byte(v.w * inverse) << 24;
    int sum = __dp4a(static_cast<int>(word), 0x01010101, 0);
    sum += __shfl_xor_sync(0xFFFFFFFFU, sum, 1);
    sum += __shfl_xor_sync(0xFFFFFFFFU, sum, 2);
    if (!valid) return;
    const int u = i / 8, half = i / 4 % 2;
    reinterpret_cast<unsigned*>((half == 0 ? out.low : out.high) + u)[i % 4] = word;
    if (i % 4 != 0) return;
    auto* s = reinterpret_cast<float*>(out.s + u);
    s[half] = scale;
    s[2 + half] = scale * static_cast<float>(sum);
}

// The four of a norm's weights that a lane needs to hand group `group` over, asked for before the
// wait; ones where there is no norm.
__device__ inline float4 weights_to_hand(const float* norm, int group) {
    if (norm == nullptr) return {1, 1, 1, 1};
    return __ldg(reinterpret_cast<const float4*>(norm) + 4 * group +
                 static_cast<int>(threadIdx.x) % 4);
}

// Where a vector is handed over, with the sums of squares of its groups, or null. What hundreds of
// blocks read at once lies there in up to eight copies, since they wait in line for a cache's line.
struct Receivers {
    unsigned char* bytes;
    float* squares;  // [copies][n / kGroup]
    int n;
};

// The block's sixteen values as group `group` of the next product's vector, times those weights;
// their own squares' sum goes along where somebody asks for it. By one warp, which makes all copies
// at once.
__device__ inline void hand_over(const Receivers& to, int copies, int group, const float* values,
                                 float4 w) {
    const int lane = static_cast<int>(threadIdx.x) % 32, i = lane % 4, copy = lane / 4;
    const float4 v = reinterpret_cast<const float4*>(values)[i];
    const bool valid = copy < copies;
    if (to.squares != nullptr) {
        float sum = v.x * v.x + v.y * v.y + v.z * v.z + v.w * v.w;
        sum += __shfl_xor_sync(0xFFFFFFFFU, sum, 1);
        sum += __shfl_xor_sync(0xFFFFFFFFU, sum, 2);
        if (i == 0 && valid) to.squares[copy * (to.n / kGroup) + group] = sum;
    }
    put_four(handed_at(to.bytes + copy * handed_bytes(to.n), to.n), 4 * group + i,
             {v.x * w.x, v.y * w.y, v.z * w.z, v.w * w.w}, valid);
}

// A unit of a vector in a lane's registers.
struct HandedUnit {
    uint4 low, high;
    float4 s;
    __device__ static HandedUnit at(const Handed& x, int u) {
        return {x.low[u], x.high[u], x.s[u]};
    }
};

// A unit of a row that lies in shared memory, or anywhere.
template <class U>
__device__ U taken(const RowParts& row, int u) {
    U unit;
    unit.template load<ReadPlain>(row, u);
    return unit;
}

__device__ inline int dot_words(int sum, unsigned w, unsigned x) {
    return __dp4a(static_cast<int>(w), static_cast<int>(x), sum);
}

// Sums of the products in the two halves of a unit.
struct Halves {
    float low, high;
};
// Of nibbles; above(i, high) are the bits of word i of a half above them.
template <class Above>
__device__ Halves dot_nibbles(const uint4& q, const HandedUnit& x, Above above) {
    const unsigned bits[4] = {q.x, q.y, q.z, q.w};
    const unsigned low[4] = {x.low.x, x.low.y, x.low.z, x.low.w};
    const unsigned high[4] = {x.high.x, x.high.y, x.high.z, x.high.w};
    int a = 0, b = 0;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        a = dot_words(a, (bits[i] & 0x0F0F0F0FU) | above(i, false), low[i]);
        b = dot_words(b, (bits[i] >> 4 & 0x0F0F0F0FU) | above(i, true), high[i]);
    }
    return {x.s.x * static_cast<float>(a), x.s.y * static_cast<float>(b)};
}

// As Unit::dot, with a scale for each half of the vector's unit.
__device__ inline float dot(const Unit<Form::q4_0>& w, const HandedUnit& x) {
    const Halves of = dot_nibbles(w.q, x, [](int, bool) { return 0U; });
    return half_value(w.d) * (of.low + of.high - 8.0F * (x.s.z + x.s.w));
}
__device__ inline float dot(const Unit<Form::q8_0>& w, const HandedUnit& x) {
    int a = 0, b = 0;
    a = dot_words(dot_words(a, w.q[0].x, x.low.x), w.q[0].y, x.low.y);
    a = dot_words(dot_words(a, w.q[0].z, x.low.z), w.q[0].w, x.low.w);
    b = dot_words(dot_words(b, w.q[1].x, x.high.x), w.q[1].y, x.high.y);
    b = dot_words(dot_words(b, w.q[1].z, x.high.z), w.q[1].w, x.high.w);
    return half_value(w.d) * (x.s.x * static_cast<float>(a) + x.s.y * static_cast<float>(b));
}
__device__ inline float dot(const Unit<Form::q5_k>& w, const HandedUnit& x) {
    const Halves of =
        dot_nibbles(w.q, x, [&](int i, bool high) { return w.fifth(high ? i + 4 : i); });
    return w.scale() * (of.low + of.high) - w.least() * (x.s.z + x.s.w);
}
__device__ inline float dot(const Unit<Form::q6_k>& w, const HandedUnit& x) {
    const Halves of = dot_nibbles(w.q, x, [&](int i, bool high) {
        return Unit<Form::q6_k>::pair(high ? w.upper.y : w.upper.x, i);
    });
    const auto first = static_cast<float>(static_cast<signed char>(w.both & 0xFF));
    const auto second = static_cast<float>(static_cast<signed char>(w.both >> 8));
    return half_value(w.d) *
           (first * (of.low - 32.0F * x.s.z) + second * (of.high - 32.0F * x.s.w));
}

// with_planes() where the kernel was made for one form, kOnly; as with_form_of().
template <int kOnly, class Work>
__device__ inline void with_planes_of(Form form, Work work) {
    if constexpr (kOnly >= 0) {
        work(Unit<static_cast<Form>(kOnly)>{});
    } else {
        with_planes(form, work);
    }
}

// Rows of whole chunks that lie in shared memory.
__device__ inline Matrix in_memory(const unsigned char* memory, const Matrix& of) {
    return {memory, of.form, 1 << 30, of.cols};
}

// sums[r] += at[r] · x, by all lanes of a warp, each with its units; `lane` of `lanes`.
template <class U, int kRows>
__device__ void dot_parts(float (&sums)[kRows], const RowParts (&at)[kRows], int units,
                          const Handed& x, int lane, int lanes) {
#pragma unroll 1
    for (int u = lane; u < units; u += lanes) {
        const HandedUnit own = HandedUnit::at(x, u);
#pragma unroll
        for (int r = 0; r < kRows; ++r) sums[r] += dot(taken<U>(at[r], u), own);
    }
}
// The same for rows first_row … of a matrix.
template <class U, int kRows>
__device__ void dot_rows(float (&sums)[kRows], const Matrix& m, int first_row, const Handed& x,
                         int lane, int lanes) {
    RowParts at[kRows];
#pragma unroll
    for (int r = 0; r < kRows; ++r) at[r] = U::row(m, first_row + r);
    dot_parts<U>(sums, at, m.cols / 32, x, lane, lanes);
}

// A group's sixteen rows, two to a warp of eight, whose lanes add their units in kSplit parts:
// kTogether == kSplit: each part by eight warps of its own, and the others bring theirs to the
// first eight; kTogether == 1: one after the other, by the same eight. Both give the same bits.
// work(sums, part) adds a lane's share of a part to `sums`; the rows' sums are in all lanes of the
// first eight warps. All threads call it.
template <int kSplit, int kTogether, class Work>
__device__ void sum_in_parts(float (&sums)[2], float* others, Work work) {
    static_assert(kTogether == kSplit || kTogether == 1);
    static_assert(kSplit <= 2);
    const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
    sums[0] = sums[1] = 0;
    if constexpr (kTogether == kSplit) {
        work(sums, warp / 8);
        sums[0] = warp_sum(sums[0]);
        sums[1] = warp_sum(sums[1]);
        if constexpr (kSplit == 2) {
            if (warp >= 8 && lane < 2) {
                others[2 * (warp - 8) + lane] = lane == 0 ? sums[0] : sums[1];
            }
            __syncthreads();
            if (warp < 8) {
                sums[0] += others[2 * warp];
                sums[1] += others[2 * warp + 1];
            }
        }
    } else {
#pragma unroll 1
        for (int part = 0; part < kSplit; ++part) {
            float own[2] = {};
            work(own, part);
            sums[0] += warp_sum(own[0]);
            sums[1] += warp_sum(own[1]);
        }
    }
}

#if __CUDA_ARCH__ >= 900

__device__ inline unsigned in_shared(const void* p) {
    return static_cast<unsigned>(__cvta_generic_to_shared(p));
}
// By one thread, before others see the arrival.
__device__ inline void make_arrivals(Arrival* arrivals, int n) {
    for (int i = 0; i < n; ++i) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(in_shared(arrivals + i)));
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}
__device__ inline void expect(Arrival* arrival, int bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(in_shared(arrival)),
                 "r"(bytes)
                 : "memory");
}
// Weights pass once a token: they leave the second-level cache first, and what else lies there, the
// kernels' own instructions too, stays. Multiples of 16 bytes at multiples of 16.
__device__ inline void ask(void* to, const void* from, int bytes, Arrival* arrival) {
    asm volatile(
        "{ .reg .b64 once; createpolicy.fractional.L2::evict_first.b64 once, 1.0;"
        " cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint"
        " [%0], [%1], %2, [%3], once; }" ::"r"(in_shared(to)),
        "l"(from), "r"(bytes), "r"(in_shared(arrival))
        : "memory");
}
__device__ inline void await(Arrival* arrival) {
    unsigned done = 0;
    while (done == 0) {
        asm volatile(
            "{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0; selp.u32 %0, 1, "
            "0, p; }"
            : "=r"(done)
            : "r"(in_shared(arrival))
            : "memory");
    }
}

// The two halves of a meeting of the cluster's blocks, which orders nothing.
__device__ inline void arrive_in_cluster() {
    asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
}
__device__ inline void wait_in_cluster() {
    asm volatile("barrier.cluster.wait.aligned;" ::: "memory");
}

// A word to the same place in another block of the cluster, which waits for all its bytes by
// await_sent(): nobody meets. `arrival` expects them.
__device__ inline void send(float* mine, Arrival* arrival, int other, float value) {
    asm volatile(
        "{ .reg .b32 to, at; mapa.shared::cluster.u32 to, %0, %2; mapa.shared::cluster.u32 at, %1, "
        "%2; st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b32 [to], %3, [at]; }" ::
            "r"(in_shared(mine)),
        "r"(in_shared(arrival)), "r"(other), "r"(__float_as_uint(value))
        : "memory");
}
__device__ inline void await_sent(Arrival* arrival) {
    unsigned done = 0;
    while (done == 0) {
        asm volatile(
            "{ .reg .pred p; mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], 0; "
            "selp.u32 %0, 1, 0, p; }"
            : "=r"(done)
            : "r"(in_shared(arrival))
            : "memory");
    }
}

// Rows first_row … + rows of m, whole chunks, to shared memory; by one thread.
__device__ inline void ask_rows(void* to, const Matrix& m, long long first_row, int rows,
                                Arrival* arrival) {
    const int chunk = chunk_bytes(m.form, m.cols);
    ask(to, m.w + first_row / 8 * chunk, rows / 8 * chunk, arrival);
}

#endif
#endif

}  // namespace steady::cuda
