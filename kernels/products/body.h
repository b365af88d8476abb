// The joined products on a GPU: a warp takes a row, and has asked for its first weights before it
// waits for the vector. Blocks take rows of one matrix only, so that they meet one weight type. For
// .cu files alone.
#pragma once

#include "kernels/cuda/rows.h"
#include "kernels/products/op.h"

namespace steady::cuda {

struct ProductsCall {
    Matrix m[Products::kMost];
    float* y[Products::kMost];
    int first_block[Products::kMost + 1];  // of each matrix; the last one: of all
    int rows_per_block;
    Source source;
    const float* residual;
};

#ifdef __CUDACC__

template <class U, int kUnits, class Place>
__device__ void product_rows(const ProductsCall& call, int which, const Vector& x, float* parts,
                             const Place& place) {
    constexpr int kN = kHeld<U, kUnits>;
    constexpr bool kAhead = U::kBytes && kUnits <= 2;
    const Matrix& m = call.m[which];
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int n_warps = static_cast<int>(blockDim.x) / 32;
    const int units = U::units(m.cols);
    const int begin = (place.block() - call.first_block[which]) * call.rows_per_block;
    const int end = min(m.rows, begin + call.rows_per_block);
    int row = begin + static_cast<int>(threadIdx.x) / 32;
    int first = lane;  // unit of this lane's first held one
    U held[kN];
    RowParts at = U::row(m, min(row, m.rows - 1));
    if (row < end) load_part(held, at, first, units);
    const float4 weights = first_weights(call.source);
    place.wait();
    prepare(call.source, x, weights, parts);
    __syncthreads();
    float sum = 0;
    while (row < end) {
        const bool last = first - lane + 32 * kN >= units;
        const int next_row = last ? row + n_warps : row;
        const int next_first = last ? lane : first + 32 * kN;
        const bool more = next_row < end;
        if (last && more) at = U::row(m, next_row);
        if constexpr (kAhead) {
            U next[kN];
            if (more) load_part(next, at, next_first, units);
            sum += dot_part(held, x, first, units);
#pragma unroll
            for (int i = 0; i < kN; ++i) held[i] = next[i];
        } else {
            sum += dot_part(held, x, first, units);
            if (more) load_part(held, at, next_first, units);
        }
        if (last) {
            const float before =
                call.residual != nullptr && lane == 0 ? __ldcg(call.residual + row) : 0.0F;
            sum = warp_sum(sum);
            if (lane == 0) call.y[which][row] = before + sum;
            sum = 0;
        }
        row = next_row;
        first = next_first;
    }
}

// Rows of one part each, of which a warp has kDepth on their way: where few warps share a
// multiprocessor. The same bits as product_rows.
template <class U, int kUnits, int kDepth, class Place>
__device__ void short_rows(const ProductsCall& call, int which, const Vector& x, float* parts,
                           const Place& place) {
    const Matrix& m = call.m[which];
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int step = static_cast<int>(blockDim.x) / 32;
    const int units = U::units(m.cols);
    const int begin = (place.block() - call.first_block[which]) * call.rows_per_block;
    const int end = min(m.rows, begin + call.rows_per_block);
    const int first = begin + static_cast<int>(threadIdx.x) / 32;
    U held[kDepth][kUnits];
    const auto ask = [&](int slot, int row) {
        if (row < end) load_part(held[slot], U::row(m, row), lane, units);
    };
#pragma unroll
    for (int i = 0; i < kDepth; ++i) ask(i, first + i * step);
    const float4 weights = first_weights(call.source);
    place.wait();
    prepare(call.source, x, weights, parts);
    __syncthreads();
    for (int base = first; base < end; base += kDepth * step) {
#pragma unroll
        for (int i = 0; i < kDepth; ++i) {
            const int row = base + i * step;
            if (row >= end) break;
            const float sum = warp_sum(dot_part(held[i], x, lane, units));
            ask(i, row + kDepth * step);
            if (lane != 0) continue;
            const float before = call.residual != nullptr ? __ldcg(call.residual + row) : 0.0F;
            call.y[which][row] = before + sum;
        }
    }
}

// kDepth: rows of a warp that are on their way; more than one where all rows are short.
template <int kUnits, int kOnly, int kDepth = 1>
struct ProductsBody {
    using Call = ProductsCall;
    struct Kept {};
    static constexpr int kThreads = 256, kBlocks = kUnits <= 2 ? 4 : 3, kArrivals = 0;

    template <class Place>
    __device__ __forceinline__ static void run(const Call& call, Kept& /*kept*/, uint4* memory,
                                               const Place& place) {
        place.let_consumers_start();
        auto* bytes = reinterpret_cast<unsigned char*>(memory);
        auto* parts = reinterpret_cast<float*>(bytes);
        const Vector x = vector_at(bytes + kPartsBytes, call.source.n);
        const int block = place.block();
        const int which = block >= call.first_block[2] ? 2 : block >= call.first_block[1] ? 1 : 0;
        with_form_of<kOnly>(call.m[which].form, [&](auto unit) {
            if constexpr (kDepth > 1) {
                short_rows<decltype(unit), kUnits, kDepth>(call, which, x, parts, place);
            } else {
                product_rows<decltype(unit), kUnits>(call, which, x, parts, place);
            }
        });
    }
};

#endif

}  // namespace steady::cuda
