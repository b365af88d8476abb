// Matrices in kernels/layouts/planes_and_halves.h as a lane of a warp meets them: forms of their
// own, which no other kernel knows. For .cu files alone.
#pragma once

#include "kernels/cuda/units.h"
#include "kernels/layouts/planes_and_halves.h"

namespace steady::cuda {

// Which of the two is read.
enum class Copy : int { planes, halves };

constexpr Form form_of_both(Type type, Copy copy) {
    const int q6 = type == Type::q6_k ? 1 : 0;
    return static_cast<Form>(only(Form::q8_0) + 1 + q6 + (copy == Copy::halves ? 2 : 0));
}

#ifdef __CUDACC__

// Where a chunk's parts lie: as row_parts() has them, but for the halves between chunks.
template <int kQuants, int kUpper, int kOfEight>
struct ChunkOfBoth {
    const unsigned char* begin;
    int n;  // rows
    __device__ ChunkOfBoth(const Matrix& m, int row) {
        const int units = m.cols / 32, chunk = row / 8;
        n = min(8, m.rows - 8 * chunk);
        const long long planes_of_row =
            static_cast<long long>(units) * (kQuants + kUpper + 2) + units / 8 * kOfEight;
        begin = m.w + 8LL * chunk * (planes_of_row + 2 * m.cols);
    }
    __device__ RowParts planes(const Matrix& m, int row) const {
        Matrix own = m;
        own.w = begin + 2LL * n * m.cols;
        own.rows = n;
        return row_parts<kQuants, kUpper, kOfEight>(own, row % 8);
    }
    __device__ RowParts halves(const Matrix& m, int row) const {
        return {begin + 2LL * (row % 8) * m.cols, nullptr, nullptr, nullptr};
    }
};

template <>
struct Unit<form_of_both(Type::q5_k, Copy::planes)> : Unit<Form::q5_k> {
    __device__ static RowParts row(const Matrix& m, int r) {
        return ChunkOfBoth<16, 4, 4>(m, r).planes(m, r);
    }
};
template <>
struct Unit<form_of_both(Type::q6_k, Copy::planes)> : Unit<Form::q6_k> {
    __device__ static RowParts row(const Matrix& m, int r) {
        return ChunkOfBoth<16, 8, 2>(m, r).planes(m, r);
    }
};

// Eight halves, multiplied as floats.
struct EightHalves {
    static constexpr bool kBytes = false;
    uint4 q;

    __device__ static int units(int cols) { return cols / 8; }
    __device__ void load(const RowParts& row, int u) {
        q = load_once(reinterpret_cast<const uint4*>(row.quants) + u);
    }
    __device__ static float pair(unsigned bits, float x, float y) {
        const float2 w = __half22float2(*reinterpret_cast<const __half2*>(&bits));
        return w.x * x + w.y * y;
    }
    __device__ float dot(const Vector& x, int u) const {
        const float4 a = reinterpret_cast<const float4*>(x.f)[2 * u];
        const float4 b = reinterpret_cast<const float4*>(x.f)[2 * u + 1];
        return pair(q.x, a.x, a.y) + pair(q.y, a.z, a.w) + pair(q.z, b.x, b.y) +
               pair(q.w, b.z, b.w);
    }
};
template <>
struct Unit<form_of_both(Type::q5_k, Copy::halves)> : EightHalves {
    __device__ static RowParts row(const Matrix& m, int r) {
        return ChunkOfBoth<16, 4, 4>(m, r).halves(m, r);
    }
};
template <>
struct Unit<form_of_both(Type::q6_k, Copy::halves)> : EightHalves {
    __device__ static RowParts row(const Matrix& m, int r) {
        return ChunkOfBoth<16, 8, 2>(m, r).halves(m, r);
    }
};

#endif

}  // namespace steady::cuda
