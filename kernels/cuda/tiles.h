// Products of matrices with many vectors at once, tile by tile: what a batch of a prompt needs of a
// GPU. Vectors come as halves, each under a power of two of its own, and as floats where a matrix
// keeps floats. For .cu files alone.
#pragma once

#include <cstdint>

#include "kernels/cuda/launch.h"
#include "kernels/cuda/vectors.h"

namespace steady::cuda {

constexpr int kTileRows = 128;    // of a matrix
constexpr int kTileVectors = 64;  // or twice as many, where there are enough
constexpr int kTileDepth = 64;    // values that are multiplied at a time

// Halves from one vector to the next: whole depths, zeros behind the values.
constexpr std::int64_t padded_to_depth(std::int64_t n) {
    return (n + kTileDepth - 1) / kTileDepth * kTileDepth;
}

// Vectors ready to multiply.
struct Vectors {
    unsigned short* halves;  // [rows][padded_to_depth(cols)]
    float* scale;            // [rows]: value = scale · half; null: 1
    float* floats;           // [rows][cols], or null where no matrix keeps floats
};

// Rows of x, prepared like Source says, to vectors; a row begins every `step` floats.
struct VectorsFrom {
    Source source;  // of the first row; `bytes` does not count
    std::int64_t step, other_step;
    std::int64_t rows;
};
void make_vectors(const VectorsFrom& from, const Vectors& to);

// Which vectors meet which group of a matrix: of the tokens those that chose an expert.
struct TileLists {
    const int* first;    // [groups + 1]; null: all groups meet all vectors
    const int* x_row;    // [first[groups]], or null: place i of the lists is vector i
    const int* tiles;    // [*n_tiles][2]: group, and the place that its tile begins at
    const int* n_tiles;  // at most most_tiles
    int most_tiles;
    int tile;  // vectors of a tile: kTileVectors or 2 * kTileVectors
};

struct TileProduct {
    Matrix m[3];  // of one form each; [groups * rows][cols]
    float* y[3];  // vector v of group g: y + v · stride + g · group_step, as its list counts v
    int y_stride[3];
    int matrices;
    int groups;
    int y_group_step;
    int n;                  // vectors of each group, without lists
    Vectors x;              // [n][groups] of cols
    const float* residual;  // beside y[0], may be it; or null
    TileLists lists;
};
void multiply_tiles(const TileProduct& product);

// Vectors of a tile where `n` meet each group on average.
constexpr int tile_vectors(std::int64_t n) {
    return static_cast<int>(n >= 2 * kTileVectors ? 2 * kTileVectors : kTileVectors);
}

// A part of an op's scratch after the other, each at a multiple of 256 bytes. Without memory it
// counts what would be taken.
class Room {
public:
    explicit Room(std::byte* memory) : at_(reinterpret_cast<std::uintptr_t>(memory)), begin_(at_) {}
    template <class T>
    T* take(std::int64_t n) {
        at_ = (at_ + 255) / 256 * 256;
        T* const taken = reinterpret_cast<T*>(at_);
        at_ += static_cast<std::uintptr_t>(n) * sizeof(T);
        return taken;
    }
    Vectors vectors(std::int64_t rows, std::int64_t cols, bool floats) {
        auto* halves = take<unsigned short>(rows * padded_to_depth(cols));
        auto* scale = take<float>(rows);
        return {halves, scale, floats ? take<float>(rows * cols) : nullptr};
    }

private:
    std::uintptr_t at_, begin_;
};

#ifdef __CUDACC__

__device__ inline unsigned shared_address(const void* p) {
    return static_cast<unsigned>(__cvta_generic_to_shared(p));
}

// 16 bytes to shared memory while the thread goes on; zeros where not `valid`.
__device__ inline void copy_ahead(uint4* to, const void* from, bool valid) {
    const int bytes = valid ? 16 : 0;
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(to)),
                 "l"(from), "r"(bytes)
                 : "memory");
}
__device__ inline void commit_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int kLeft>
__device__ void wait_for_copies() {
    asm volatile("cp.async.wait_group %0;" ::"n"(kLeft) : "memory");
}

// Where 16 bytes `chunk` of a row lie, so that eight rows' lie in banks of their own. Rows are
// multiples of 128 bytes.
__device__ inline int swizzled(int row, int chunk, int chunks) {
    return row * chunks + (chunk ^ (row & 7));
}

// Four 8 × 8 matrices of halves; lane l gives the address of row l % 8 of matrix l / 8.
__device__ inline void load_matrices(unsigned (&to)[4], const uint4* row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(shared_address(row)));
}
__device__ inline void load_transposed(unsigned (&to)[4], const uint4* row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(shared_address(row)));
}

// c[16][8] += a[16][16] · b[16][8], by the tensor cores. Of c a lane has row lane / 4, columns
// 2 (lane % 4) and the next, and the same eight rows below.
__device__ inline void multiply_add(float (&c)[4], const unsigned (&a)[4], unsigned b0,
                                    unsigned b1) {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, "
        "{%8,%9}, {%0,%1,%2,%3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// The power of two that makes a vector whose largest value is `largest` fit halves well.
__device__ inline float scale_for(float largest) {
    return largest > 0 ? exp2f(static_cast<float>(max(ilogbf(largest), -100) - 12)) : 1.0F;
}

#endif

}  // namespace steady::cuda
