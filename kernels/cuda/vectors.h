// A vector on its way into shared memory: normed or gated, as floats and as bytes. Every block
// prepares it for itself, since waiting for one that does it for all costs more. For .cu files
// alone.
#pragma once

#include "kernels/cuda/launch.h"
#include "kernels/cuda/units.h"

namespace steady::cuda {

enum class Make : int { plain, normed, gated };

struct Source {
    const float* x;
    const float* other;  // normed: the norm's weights; gated: up
    float eps;
    int n;
    Make make;
    bool bytes;  // besides the floats: n is a multiple of 32 then
};

// Shared memory of a vector of n values, and where its parts begin.
inline constexpr int kPartsBytes = 32 * 4;
__host__ __device__ inline std::size_t vector_bytes(std::int64_t n, bool bytes) {
    const std::int64_t rounded = (n + 31) / 32 * 32;
    return static_cast<std::size_t>(rounded * 4 + (bytes ? rounded + rounded / 32 * 8 : 0));
}

#ifdef __CUDACC__

__device__ inline Vector vector_at(unsigned char* memory, int n) {
    const int rounded = (n + 31) / 32 * 32;
    Vector v;
    v.f = reinterpret_cast<float*>(memory);
    v.low = reinterpret_cast<uint4*>(v.f + rounded);
    v.high = v.low + rounded / 32;
    v.s = reinterpret_cast<float2*>(v.high + rounded / 32);
    return v;
}

// Values 4i … 4i + 3 of n; written by kernels before this one.
__device__ inline float4 four(const float* p, int i, int n) {
    if (4 * i >= n) return {0, 0, 0, 0};
    if (n % 4 == 0) return __ldcg(reinterpret_cast<const float4*>(p) + i);
    const auto at = [&](int j) { return 4 * i + j < n ? __ldcg(p + 4 * i + j) : 0.0F; };
    return {at(0), at(1), at(2), at(3)};
}

__device__ inline float gated(float gate, float up) { return gate / (1.0F + __expf(-gate)) * up; }

// Four values of one unit, in eight neighbouring lanes, to bytes. All lanes of the warp call it;
// `valid` is the same for the eight.
__device__ inline void put_bytes(const Vector& out, int i, float4 v, bool valid) {
    float largest = fmaxf(fmaxf(fabsf(v.x), fabsf(v.y)), fmaxf(fabsf(v.z), fabsf(v.w)));
#pragma unroll
    for (int step = 1; step < 8; step *= 2) {
        largest = fmaxf(largest, __shfl_xor_sync(0xFFFFFFFFU, largest, step));
    }
    const float scale = largest / 127.0F;
    const float inverse = scale > 0 ? 127.0F / largest : 0.0F;
    const auto byte = [&](float value) {
        return static_cast<unsigned>(max(-127, min(127, __float2int_rn(value * inverse)))) & 0xFFU;
    };
    const unsigned word = byte(v.x) | byte(v.y) << 8 | byte(v.z) << 16 | byte(v.w) << 24;
    int sum = __dp4a(static_cast<int>(word), 0x01010101, 0);
    sum += __shfl_xor_sync(0xFFFFFFFFU, sum, 1);
    sum += __shfl_xor_sync(0xFFFFFFFFU, sum, 2);
    const int other = __shfl_xor_sync(0xFFFFFFFFU, sum, 4);
    if (!valid) return;
    const int u = i / 8, part = i % 8;
    unsigned* words = reinterpret_cast<unsigned*>(part < 4 ? out.low + u : out.high + u);
    words[part % 4] = word;
    if (part == 0) out.s[u] = {scale, __int_as_float((sum & 0xFFFF) | other << 16)};
}

// n values that lie in out.f already, each in the thread that reads it here, to bytes as well.
// `factor` multiplies them before, `weights` too where they are not null.
__device__ inline void finish_vector(const Vector& out, int n, float factor, const float* weights,
                                     float4 first_weights, bool bytes) {
    const int threads = static_cast<int>(blockDim.x);
    const int fours = (n + 3) / 4;
    for (int base = 0; base < fours; base += threads) {
        const int i = base + static_cast<int>(threadIdx.x);
        const bool valid = i < fours;
        float4 v = valid ? reinterpret_cast<const float4*>(out.f)[i] : float4{0, 0, 0, 0};
        if (weights != nullptr) {
            const float4 w = base == 0 ? first_weights : four(weights, i, n);
            v = {v.x * factor * w.x, v.y * factor * w.y, v.z * factor * w.z, v.w * factor * w.w};
            if (valid) reinterpret_cast<float4*>(out.f)[i] = v;
        }
        if (bytes) put_bytes(out, i, v, valid);
    }
}

// The norm's first weights, which do not depend on any kernel.
__device__ inline float4 first_weights(const Source& in) {
    if (in.make != Make::normed) return {0, 0, 0, 0};
    return four(in.other, static_cast<int>(threadIdx.x), in.n);
}

// The whole vector. Threads see each other's part after the next __syncthreads().
__device__ inline void prepare(const Source& in, const Vector& out, float4 first, float* parts) {
    const int threads = static_cast<int>(blockDim.x);
    float squares = 0;
    for (int i = static_cast<int>(threadIdx.x); 4 * i < in.n; i += threads) {
        float4 v = four(in.x, i, in.n);
        if (in.make == Make::gated) {
            const float4 up = four(in.other, i, in.n);
            v = {gated(v.x, up.x), gated(v.y, up.y), gated(v.z, up.z), gated(v.w, up.w)};
        }
        squares += v.x * v.x + v.y * v.y + v.z * v.z + v.w * v.w;
        reinterpret_cast<float4*>(out.f)[i] = v;
    }
    if (in.make != Make::normed) {
        return finish_vector(out, in.n, 1, nullptr, first, in.bytes);
    }
    const float mean = block_sum(squares, parts) / static_cast<float>(in.n);
    finish_vector(out, in.n, rsqrtf(mean + in.eps), in.other, first, in.bytes);
}

#endif

}  // namespace steady::cuda
