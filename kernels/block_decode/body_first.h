// The first products of a block. For .cu files alone.
#pragma once

#include "kernels/block_decode/handed.h"

namespace steady::cuda {

constexpr int kFirstThreads = 256;  // a warp for two of a group's rows

struct FirstCall {
    Matrix m[2];
    float* y[2];
    int first_block;  // of the second matrix
    int n;
    float eps;
    // x as floats and its norm, or handed over with its squares.
    const float* x;
    const float* norm;
    const unsigned char* handed;
    const float* squares;
    // For the attention: the query normed but for its factor, null where it comes whole.
    const float* query_norm;
    unsigned char* query;
    float* out_squares[2];
    int square_groups;  // of the second matrix
    unsigned* chosen;   // by this block's feed-forward: not yet
};

#ifdef __CUDACC__
#if __CUDA_ARCH__ >= 900

// x · norm as a handed vector; returns the norm's factor.
__device__ inline float norm_and_hand(const FirstCall& call, const Handed& out, float* parts) {
    const int t = static_cast<int>(threadIdx.x);
    float squares = 0;
    for (int base = 0; base < call.n / 4; base += kFirstThreads) {
        const int i = base + t;
        const bool valid = i < call.n / 4;
        float4 v = {0, 0, 0, 0};
        if (valid) {
            v = __ldcg(reinterpret_cast<const float4*>(call.x) + i);
            squares += v.x * v.x + v.y * v.y + v.z * v.z + v.w * v.w;
            const float4 w = __ldg(reinterpret_cast<const float4*>(call.norm) + i);
            v = {v.x * w.x, v.y * w.y, v.z * w.z, v.w * w.w};
        }
        put_four(out, i, v, valid);
    }
    return rsqrtf(block_sum(squares, parts) / static_cast<float>(call.n) + call.eps);
}

#endif

template <int kOnly>
struct FirstBody {
    using Call = FirstCall;
    static constexpr int kThreads = kFirstThreads, kBlocks = 2, kArrivals = 1;
    struct Kept {
        Arrival arrivals[1];
        float parts[32], factor;
        alignas(16) float values[kGroup];
    };

    template <class Place>
    __device__ __forceinline__ static void run(const Call& call, Kept& kept, uint4* memory,
                                               const Place& place) {
#if __CUDA_ARCH__ >= 900
        Arrival& arrival = kept.arrivals[0];
        float &factor = kept.factor, *values = kept.values;
        place.let_consumers_start();
        const int block = place.block(), warp = static_cast<int>(threadIdx.x) / 32;
        const int lane = static_cast<int>(threadIdx.x) % 32;
        const int which = block >= call.first_block ? 1 : 0;
        const int group = which == 0 ? block : block - call.first_block;
        const Matrix& m = call.m[which];
        const Handed x = handed_at(memory, call.n);
        auto* rows = reinterpret_cast<unsigned char*>(memory) + handed_bytes(call.n);
        if (threadIdx.x == 0) {
            make_arrivals(&arrival, 1);
            expect(&arrival, 2 * chunk_bytes(m.form, m.cols));
            ask_rows(rows, m, group * kGroup, kGroup, &arrival);
        }
        const float4 weights = weights_to_hand(which == 0 ? call.query_norm : nullptr, group);
        place.wait();
        if (block == 0 && threadIdx.x == 0) *call.chosen = 0;
        if (call.handed != nullptr) {
            if (warp == 0) {
                const float own = norm_factor_of(call.squares, call.n / kGroup, call.n, call.eps);
                if (lane == 0) factor = own;
            } else {
                take_handed(x, call.handed, call.n, 32);
            }
        } else {
            const float own = norm_and_hand(call, x, kept.parts);
            if (threadIdx.x == 0) factor = own;
        }
        __syncthreads();
        await(&arrival);
        float sums[2] = {};
        with_planes_of<kOnly>(m.form, [&](auto unit) {
            dot_rows<decltype(unit)>(sums, in_memory(rows, m), 2 * warp, x, lane, 32);
        });
        sums[0] = warp_sum(sums[0]) * factor;
        sums[1] = warp_sum(sums[1]) * factor;
        if (lane < 2) {
            const float value = lane == 0 ? sums[0] : sums[1];
            values[2 * warp + lane] = value;
            call.y[which][group * kGroup + 2 * warp + lane] = value;
        }
        __syncthreads();
        if (warp != 0) return;
        if (which == 1) {
            float square = threadIdx.x < kGroup ? values[threadIdx.x] * values[threadIdx.x] : 0.0F;
            square = warp_sum(square);
            const bool keeps = threadIdx.x == 0 && group < call.square_groups;
            if (keeps) call.out_squares[1][group] = square;
        } else if (call.query_norm != nullptr) {
            hand_over({call.query, call.out_squares[0], m.rows}, 1, group, values, weights);
        }
#endif
    }
};

#endif

}  // namespace steady::cuda
