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

template <int kUnits, int kOnly>
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
            product_rows<decltype(unit), kUnits>(call, which, x, parts, place);
        });
    }
};

#endif

}  // namespace steady::cuda
