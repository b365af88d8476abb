// A unit of weights as halves, for the tensor cores. For .cu files alone.
#pragma once

#include "kernels/cuda/units.h"

namespace steady::cuda {

#ifdef __CUDACC__

// What the halves are of the weights, so that small ones keep their digits.
constexpr float kWeightScale = 64;

__device__ inline __half2 two_halves(unsigned bits) { return *reinterpret_cast<__half2*>(&bits); }
__device__ inline unsigned bits_of(__half2 v) { return *reinterpret_cast<unsigned*>(&v); }

// Four unsigned bytes q as halves (q − zero) · scale − less. A byte below 1024's exponent is 1024 +
// q exactly; kZero is 1024 + zero.
template <unsigned kZero, bool kLess>
__device__ uint2 four_halves(unsigned bytes, __half2 scale, __half2 less) {
    const __half2 zero = two_halves(kZero | kZero << 16);
    const __half2 a = __hsub2(two_halves(__byte_perm(bytes, 0x64646464U, 0x4140)), zero);
    const __half2 b = __hsub2(two_halves(__byte_perm(bytes, 0x64646464U, 0x4342)), zero);
    if constexpr (kLess) {
        return {bits_of(__hfma2(a, scale, less)), bits_of(__hfma2(b, scale, less))};
    }
    return {bits_of(__hmul2(a, scale)), bits_of(__hmul2(b, scale))};
}

// The 32 values of a unit whose bytes are in order, 16 bytes of halves at a time.
template <unsigned kZero, bool kLess = false>
__device__ void put_halves(const unsigned (&bytes)[8], float low, float high, float less,
                           uint4 (&out)[4]) {
    const __half2 scale[2] = {__float2half2_rn(low * kWeightScale),
                              __float2half2_rn(high * kWeightScale)};
    const __half2 less2 = __float2half2_rn(-less * kWeightScale);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        const uint2 a = four_halves<kZero, kLess>(bytes[2 * i], scale[i / 2], less2);
        const uint2 b = four_halves<kZero, kLess>(bytes[2 * i + 1], scale[i / 2], less2);
        out[i] = {a.x, a.y, b.x, b.y};
    }
}

__device__ inline void words_of(const uint4& q, unsigned (&words)[8]) {
    const unsigned all[4] = {q.x, q.y, q.z, q.w};
#pragma unroll
    for (int w = 0; w < 4; ++w) {
        words[w] = all[w] & 0x0F0F0F0FU;
        words[w + 4] = all[w] >> 4 & 0x0F0F0F0FU;
    }
}

// What a thread keeps of a row: one unit at a time, and the scales of eight, since two bytes of
// each row at a time would cost the first level as much as the weights themselves. Other blocks
// read the same, one vector tile after the other: it stays in the second level.
template <Form kForm>
struct RowUnit {
    Unit<kForm> unit;
    uint4 scales;

    // `eights`: the row is made of whole eights of units, whose scales lie 16 bytes apart.
    __device__ void load(const RowParts& row, int u, bool eights) {
        const auto* wide = reinterpret_cast<const uint4*>(row.quants);
        if constexpr (kForm == Form::q8_0) {
            unit.q[0] = __ldg(wide + 2 * u);
            unit.q[1] = __ldg(wide + 2 * u + 1);
        } else {
            unit.q = __ldg(wide + u);
        }
        if constexpr (kForm == Form::q5_k) {
            unit.upper = __ldg(reinterpret_cast<const unsigned*>(row.upper) + u);
        }
        if constexpr (kForm == Form::q6_k) {
            unit.upper = __ldg(reinterpret_cast<const uint2*>(row.upper) + u);
        }
        if (!eights) {
            scales.x = __ldg(reinterpret_cast<const unsigned short*>(row.scales) + u);
        } else if (u % 8 < 2) {
            scales = __ldg(reinterpret_cast<const uint4*>(row.scales) + u / 8);
            if constexpr (kForm == Form::q5_k) {
                unit.d = __ldg(reinterpret_cast<const unsigned*>(row.of_eight) + u / 8);
            }
            if constexpr (kForm == Form::q6_k) {
                unit.d = __ldg(reinterpret_cast<const unsigned short*>(row.of_eight) + u / 8);
            }
        }
    }
    // The unit's own scale, from those of its eight.
    __device__ const Unit<kForm>& scaled(int u, bool eights) {
        const unsigned word = u % 8 < 2   ? scales.x
                              : u % 8 < 4 ? scales.y
                              : u % 8 < 6 ? scales.z
                                          : scales.w;
        const auto own = static_cast<unsigned short>(!eights ? scales.x : word >> (u % 2 * 16));
        if constexpr (kForm == Form::q5_k || kForm == Form::q6_k) {
            unit.both = own;
        } else {
            unit.d = own;
        }
        return unit;
    }
};

__device__ inline void halves_of(const Unit<Form::q4_0>& unit, uint4 (&out)[4]) {
    unsigned words[8];
    words_of(unit.q, words);
    const float d = half_value(unit.d);
    put_halves<0x6408>(words, d, d, 0, out);
}
__device__ inline void halves_of(const Unit<Form::q8_0>& unit, uint4 (&out)[4]) {
    constexpr unsigned kSign = 0x80808080U;
    const unsigned words[8] = {unit.q[0].x ^ kSign, unit.q[0].y ^ kSign, unit.q[0].z ^ kSign,
                               unit.q[0].w ^ kSign, unit.q[1].x ^ kSign, unit.q[1].y ^ kSign,
                               unit.q[1].z ^ kSign, unit.q[1].w ^ kSign};
    const float d = half_value(unit.d);
    put_halves<0x6480>(words, d, d, 0, out);
}
__device__ inline void halves_of(const Unit<Form::q5_k>& unit, uint4 (&out)[4]) {
    unsigned words[8];
    words_of(unit.q, words);
#pragma unroll
    for (int w = 0; w < 8; ++w) words[w] |= unit.fifth(w);
    put_halves<0x6400, true>(words, unit.scale(), unit.scale(), unit.least(), out);
}
__device__ inline void halves_of(const Unit<Form::q6_k>& unit, uint4 (&out)[4]) {
    unsigned words[8];
    words_of(unit.q, words);
#pragma unroll
    for (int w = 0; w < 4; ++w) {
        words[w] |= Unit<Form::q6_k>::pair(unit.upper.x, w);
        words[w + 4] |= Unit<Form::q6_k>::pair(unit.upper.y, w);
    }
    const float d = half_value(unit.d);
    put_halves<0x6420>(words, d * static_cast<float>(static_cast<signed char>(unit.both & 0xFF)),
                       d * static_cast<float>(static_cast<signed char>(unit.both >> 8)), 0, out);
}

// Several blocks read a weight, one vector tile after the other: it stays in the second level.
struct ReadAgain {
    __device__ static uint4 wide(const uint4* p) { return __ldg(p); }
    template <class T>
    __device__ static T narrow(const T* p) {
        return __ldg(p);
    }
};

#endif

}  // namespace steady::cuda
