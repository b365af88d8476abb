// A part of a row in a lane's registers: asked for early, multiplied later. For .cu files alone.
#pragma once

#include "kernels/cuda/vectors.h"

namespace steady::cuda {

// Units that a lane holds at a time: few for short rows, where the next row's are on their way
// meanwhile; more for long ones. Floats are a fourth of a unit's values.
template <class U, int kUnits>
constexpr int kHeld = U::kBytes ? kUnits : 8;

template <class U, int kN>
__device__ void load_part(U (&held)[kN], const RowParts& row, int first, int units) {
#pragma unroll
    for (int i = 0; i < kN; ++i) {
        const int u = first + 32 * i;
        if (u < units) held[i].load(row, u);
    }
}

template <class U, int kN>
__device__ float dot_part(const U (&held)[kN], const Vector& x, int first, int units) {
    float sum = 0;
#pragma unroll
    for (int i = 0; i < kN; ++i) {
        const int u = first + 32 * i;
        if (u < units) sum += held[i].dot(x, u);
    }
    return sum;
}

}  // namespace steady::cuda
