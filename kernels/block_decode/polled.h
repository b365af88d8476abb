// How kernels of a block hand each other values without waiting for a kernel's end: who reads a
// value looks at its place until it is there. No word of four bytes of a handed vector is four
// times -128, and no float is written with those bits, so such a word says that nothing is there
// yet, and each word speaks for itself: nothing is ordered, and no flag follows the data.
//
// There are two sets of places, for every other block of the model. The attention of a block clears
// the other set, whose readers have all ended; nobody looks there before that attention has ended
// (`go`). A block behind one that hands over otherwise is fresh: it waits for kernels' ends up to
// its attention, and its first kernel clears its own set.
//
// Deep in a text attention's kernels are those of other ways, which wait for ends: what they read
// and write lies in the op's scratch, and the output product clears the other set.
//
// What is not looked for, the residual and the cache's rows, rests on kernels' ends. One block of
// each kernel waits for the end of the kernel before, when it has come already, and so a kernel's
// end says that all before have ended. For .cu files alone.
#pragma once

#include "kernels/block_decode/cuda.h"
#include "kernels/block_decode/handed.h"

namespace steady::cuda {

constexpr unsigned kAbsent = 0x80808080U;
constexpr int kFewCopies = 4;  // of what 84 to 160 blocks read
constexpr int kMostChosen = 16;

// Where a block's kernels hand over. `values` and what follows are cleared before a fresh block.
struct PolledSet {
    unsigned char* query;   // [copies], handed; floats where it comes whole
    float* query_squares;   // [copies][q_rank / kGroup]
    float* kv;              // [kv_rank + n_rot]
    float* kv_squares;      // [copies][kv_rank / kGroup]
    unsigned char* values;  // [copies]
    unsigned char* ffn;     // [kFfnCopies]
    float* ffn_squares;     // [kFfnCopies][cols / kGroup]
    float* logits;          // [kFfnCopies][parts][n_experts]
    unsigned* ids;          // [kMostChosen]
    float* weights;         // [kMostChosen]
    unsigned* go;           // the block's attention has ended
    unsigned char* hidden;  // [kHiddenCopies]
    unsigned char* x;       // [copies], for the block behind
    float* x_squares;       // [copies][cols / kGroup]
    unsigned char* end;
};

inline PolledSet polled_set(const BlockDecodeShape& s, unsigned char* memory) {
    unsigned char* at = memory;
    const auto bytes = [&](std::int64_t n) {
        unsigned char* begin = at;
        at += (n + 127) / 128 * 128;
        return begin;
    };
    const auto floats = [&](std::int64_t n) { return reinterpret_cast<float*>(bytes(4 * n)); };
    const auto vector = [](std::int64_t n) { return static_cast<std::int64_t>(handed_bytes(n)); };
    PolledSet set = {};
    set.query =
        bytes(s.q_rank != 0 ? kFewCopies * vector(s.q_rank) : 4 * s.n_heads * (s.n_nope + s.n_rot));
    set.query_squares = floats(kFewCopies * s.q_rank / kGroup);
    set.kv = floats(s.kv_rank + s.n_rot);
    set.kv_squares = floats(kFewCopies * s.kv_rank / kGroup);
    set.values = bytes(kFewCopies * vector(s.n_heads * s.n_value));
    set.ffn = bytes(kFfnCopies * vector(s.cols));
    set.ffn_squares = floats(kFfnCopies * s.cols / kGroup);
    set.logits = floats(kFfnCopies * (s.cols / kGroup / output_cluster(s)) * s.n_experts);
    set.ids = reinterpret_cast<unsigned*>(floats(kMostChosen));
    set.weights = floats(kMostChosen);
    set.go = reinterpret_cast<unsigned*>(floats(1));
    set.hidden = bytes(kHiddenCopies * vector(s.n_hidden()));
    set.x = bytes(kFewCopies * vector(s.cols));
    set.x_squares = floats(kFewCopies * s.cols / kGroup);
    set.end = at;
    return set;
}

#ifdef __CUDACC__
#if __CUDA_ARCH__ >= 900

// Larger is larger, of unsigned words, which a warp compares in one instruction.
__device__ inline unsigned in_order(float v) {
    const unsigned bits = __float_as_uint(v);
    return bits & 0x80000000U ? ~bits : bits | 0x80000000U;
}
__device__ inline float out_of_order(unsigned v) {
    return __uint_as_float(v & 0x80000000U ? v & 0x7FFFFFFFU : ~v);
}

// What never comes would hang the GPU.
struct Patience {
    long long begin = clock64();
    __device__ void check() const {
        if (clock64() - begin > (1LL << 35)) __trap();
    }
};

__device__ inline unsigned look(const unsigned* p) {
    unsigned v;
    asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
    return v;
}
__device__ inline uint4 look(const uint4* p) {
    uint4 v;
    asm volatile("ld.relaxed.gpu.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "l"(p)
                 : "memory");
    return v;
}
__device__ inline bool is_there(const uint4& v) {
    return v.x != kAbsent && v.y != kAbsent && v.z != kAbsent && v.w != kAbsent;
}

__device__ inline unsigned polled_word(const void* p) {
    const Patience patience;
    for (;;) {
        const unsigned v = look(static_cast<const unsigned*>(p));
        if (v != kAbsent) return v;
        patience.check();
    }
}
// Words first, first + step … before `end`, all asked for together.
template <int kN>
__device__ void poll(uint4 (&v)[kN], const uint4* from, int first, int step, int end) {
    const Patience patience;
#pragma unroll
    for (int i = 0; i < kN; ++i) v[i] = {kAbsent, 0, 0, 0};
    for (;;) {
        bool all = true;
#pragma unroll
        for (int i = 0; i < kN; ++i) {
            if (first + i * step < end && !is_there(v[i])) v[i] = look(from + first + i * step);
        }
#pragma unroll
        for (int i = 0; i < kN; ++i) {
            if (first + i * step < end) all = all && is_there(v[i]);
        }
        if (all) return;
        patience.check();
    }
}
__device__ inline float4 polled_four(const float* p) {
    uint4 v[1];
    poll(v, reinterpret_cast<const uint4*>(p), 0, 1, 1);
    return {__uint_as_float(v[0].x), __uint_as_float(v[0].y), __uint_as_float(v[0].z),
            __uint_as_float(v[0].w)};
}

// As take_handed(), but by none of the last `others` threads. All lanes of a warp look once, since
// a block that began late finds all words; then one looks until its first word is there, and all do
// again: a long wait leaves the second-level cache to others.
__device__ inline void take_polled(const Handed& to, const unsigned char* from, int n, int first,
                                   int others = 0) {
    const auto* words = reinterpret_cast<const uint4*>(from);
    const int threads = static_cast<int>(blockDim.x) - first - others, end = 3 * n / 32;
    const int t = static_cast<int>(threadIdx.x) - first;
    uint4 v = {0, 0, 0, 0};
    if (t < end) v = look(words + t);
    if (__any_sync(0xFFFFFFFFU, !is_there(v))) {
        if (t % 32 == 0) polled_word(words + t);
        __syncwarp();
    }
    const Patience patience;
#pragma unroll 1
    for (int i = t; i < end; i += threads) {
        while (!is_there(v)) {
            v = look(words + i);
            patience.check();
        }
        to.low[i] = v;
        v = {kAbsent, 0, 0, 0};
    }
}

// The same for units first_unit … first_unit + n of a vector of `units`, by all threads of the
// block from `first` on, kAtOnce words each at once.
template <int kAtOnce>
__device__ void take_units(const Handed& to, const unsigned char* from, int units, int first_unit,
                           int n, int first) {
    const auto* words = reinterpret_cast<const uint4*>(from);
    const int threads = static_cast<int>(blockDim.x) - first;
    const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll 1
    for (int i = static_cast<int>(threadIdx.x) - first; i - lane < 3 * n; i += kAtOnce * threads) {
        int at[kAtOnce];
        uint4 v[kAtOnce];
#pragma unroll
        for (int k = 0; k < kAtOnce; ++k) {
            const int word = i + k * threads, part = word / n;
            at[k] = word < 3 * n ? part * units + first_unit + word - part * n : -1;
            v[k] = {kAbsent, 0, 0, 0};
        }
        bool there = true;
#pragma unroll
        for (int k = 0; k < kAtOnce; ++k) {
            if (at[k] >= 0) v[k] = look(words + at[k]);
        }
#pragma unroll
        for (int k = 0; k < kAtOnce; ++k) there = there && (at[k] < 0 || is_there(v[k]));
        if (!__all_sync(0xFFFFFFFFU, there)) {
            if (lane == 0) polled_word(words + at[0]);
            __syncwarp();
        }
        const Patience patience;
        for (;;) {
            bool all = true;
#pragma unroll
            for (int k = 0; k < kAtOnce; ++k) {
                if (at[k] >= 0 && !is_there(v[k])) v[k] = look(words + at[k]);
            }
#pragma unroll
            for (int k = 0; k < kAtOnce; ++k) {
                if (at[k] >= 0) all = all && is_there(v[k]);
            }
            if (all) break;
            patience.check();
        }
#pragma unroll
        for (int k = 0; k < kAtOnce; ++k) {
            if (at[k] >= 0) to.low[at[k]] = v[k];
        }
    }
}

// As norm_factor_of(), n a multiple of four.
__device__ inline float polled_factor(const float* squares, int n, int values, float eps) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    float sum = 0;
    for (int i = lane; i < n / 4; i += 32) {
        const float4 v = polled_four(squares + 4 * i);
        sum += v.x + v.y + v.z + v.w;
    }
    return rsqrtf(warp_sum(sum) / static_cast<float>(values) + eps);
}

__device__ inline void tell_word(void* p, unsigned bits) {
    asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" ::"l"(p), "r"(bits) : "memory");
}
__device__ inline void tell_float(float* p, float v) {
    const unsigned bits = __float_as_uint(v);
    tell_word(p, bits == kAbsent ? 0U : bits);
}

// As hand_over(), for readers that look.
__device__ inline void hand_polled(const Receivers& to, int copies, int group, const float* values,
                                   float4 w) {
    const int lane = static_cast<int>(threadIdx.x) % 32, i = lane % 4, copy = lane / 4;
    float4 v = reinterpret_cast<const float4*>(values)[i];
    const bool valid = copy < copies;
    if (to.squares != nullptr) {
        float sum = v.x * v.x + v.y * v.y + v.z * v.z + v.w * v.w;
        sum += __shfl_xor_sync(0xFFFFFFFFU, sum, 1);
        sum += __shfl_xor_sync(0xFFFFFFFFU, sum, 2);
        if (i == 0 && valid) tell_float(to.squares + copy * (to.n / kGroup) + group, sum);
    }
    v = {v.x * w.x, v.y * w.y, v.z * w.z, v.w * w.w};
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
    const Handed out = handed_at(to.bytes + copy * handed_bytes(to.n), to.n);
    const int unit = group / 2, half = group % 2;
    tell_word(reinterpret_cast<unsigned*>((half == 0 ? out.low : out.high) + unit) + i, word);
    if (i >= 2) return;
    auto* s = reinterpret_cast<float*>(out.s + unit);
    tell_float(s + half + 2 * i, i == 0 ? scale : scale * static_cast<float>(sum));
}

// Part `part` of n of a matrix's bytes, or of one expert's, into the second-level cache; by one
// thread. Rows are whole chunks.
__device__ inline void prefetch_part(const Matrix& m, long long first_row, int rows, int part,
                                     int n) {
    const int chunk = chunk_bytes(m.form, m.cols);
    const int words = rows / 8 * (chunk / 16);
    const int begin = static_cast<int>(static_cast<long long>(words) * part / n);
    const int end = static_cast<int>(static_cast<long long>(words) * (part + 1) / n);
    if (begin == end) return;
    asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(m.w + first_row / 8 * chunk +
                                                                    16LL * begin),
                 "r"(16 * (end - begin))
                 : "memory");
}

// n words of 16 bytes, by all threads of all blocks.
template <class Place>
__device__ void clear(uint4* from, int n, const Place& place) {
    const int threads = static_cast<int>(blockDim.x);
    for (int i = place.block() * threads + static_cast<int>(threadIdx.x); i < n;
         i += place.blocks() * threads) {
        from[i] = {kAbsent, kAbsent, kAbsent, kAbsent};
    }
}

#endif
#endif

}  // namespace steady::cuda
