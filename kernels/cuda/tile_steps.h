// A step of a tile: 128 rows of weights times 64 or 128 vectors, 64 values deep, both in shared
// memory as halves. On Hopper a group of four warps hands the step to the tensor cores and goes on
// (wgmma); before, each warp multiplies small matrices that it loads (mma). For .cu files alone.
#pragma once

#include "kernels/cuda/tiles.h"

namespace steady::cuda {

#ifdef __CUDACC__

constexpr int kChunks = kTileDepth / 8;  // of 16 bytes, in a row of a tile

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

// d[64][N] += a · b, of rows of 128 bytes; it happens while the threads go on.
__device__ inline void multiply_32(float* d, unsigned long long a, unsigned long long b) {
    asm volatile(
        "{ .reg .pred on; setp.eq.u32 on, 0, 0; "
        "wgmma.mma_async.sync.aligned.m64n32k16.f32.f16.f16 {"
        "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15}, "
        "%16, %17, on, 1, 1, 0, 0; }"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]),
          "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]),
          "+f"(d[14]), "+f"(d[15])
        : "l"(a), "l"(b));
}
__device__ inline void multiply_64(float* d, unsigned long long a, unsigned long long b) {
    asm volatile(
        "{ .reg .pred on; setp.eq.u32 on, 0, 0; "
        "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {"
        "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, "
        "%17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, "
        "%32, %33, on, 1, 1, 0, 0; }"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]),
          "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]),
          "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]),
          "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]),
          "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31])
        : "l"(a), "l"(b));
}
__device__ inline void multiply_128(float* d, unsigned long long a, unsigned long long b) {
    asm volatile(
        "{ .reg .pred on; setp.eq.u32 on, 0, 0; "
        "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 {"
        "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, "
        "%17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
        "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, "
        "%47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, "
        "%62, %63}, "
        "%64, %65, on, 1, 1, 0, 0; }"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]),
          "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]),
          "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]),
          "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]),
          "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]), "+f"(d[32]), "+f"(d[33]), "+f"(d[34]),
          "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), "+f"(d[40]), "+f"(d[41]),
          "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]), "+f"(d[48]),
          "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]),
          "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]),
          "+f"(d[63])
        : "l"(a), "l"(b));
}

// Rows of 128 bytes, eight by eight, swizzled as in swizzled().
__device__ inline unsigned long long rows_at(const uint4* tile) {
    return (shared_address(tile) & 0x3FFFFU) >> 4 | 1ULL << 16 | 64ULL << 32 | 1ULL << 62;
}

// What this thread wrote to shared memory is there for the tensor cores after the next barrier.
__device__ inline void show_tensor_cores() {
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

// Sums of 64 · kN threads' tile; kMost: vectors of the tile that count.
template <int kN, int kMost>
struct TileSums {
    float v[2][8][4] = {};

    __device__ static int warp() { return static_cast<int>(threadIdx.x) / 32; }
    // Where v[i][j] begins.
    __device__ static int row(int i) { return kN == 1 ? 64 * i + 16 * warp() : 16 * warp(); }
    __device__ static int vector(int i, int j) { return kN == 1 ? 8 * j : 64 * i + 8 * j; }

    __device__ void begin(const uint4* weights, const uint4* vectors) {
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
        const unsigned long long b = rows_at(vectors);
        const unsigned long long a = rows_at(weights + (kN == 1 ? 0 : warp() / 4 * 64 * kChunks));
#pragma unroll
        for (int k = 0; k < kTileDepth / 16; ++k) {
            if constexpr (kN == 2) {
                multiply_128(&v[0][0][0], a + 2 * k, b + 2 * k);
            } else {
#pragma unroll
                for (int i = 0; i < 2; ++i) {
                    const unsigned long long of_rows = a + 64 * kChunks * i + 2 * k;
                    kMost <= 32 ? multiply_32(&v[i][0][0], of_rows, b + 2 * k)
                                : multiply_64(&v[i][0][0], of_rows, b + 2 * k);
                }
            }
        }
        asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    }
    __device__ void end() { asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory"); }
};

#else

__device__ inline void show_tensor_cores() {}

// A warp has 32 rows and 64 vectors.
template <int kN, int kMost>
struct TileSums {
    float v[2][8][4] = {};

    __device__ static int warp() { return static_cast<int>(threadIdx.x) / 32; }
    __device__ static int row(int i) { return warp() % 4 * 32 + 16 * i; }
    __device__ static int vector(int /*i*/, int j) { return warp() / 4 * kTileVectors + 8 * j; }

    __device__ void begin(const uint4* weights, const uint4* vectors) {
        constexpr int kPairs = kMost <= 32 ? 2 : 4;
        const int lane = static_cast<int>(threadIdx.x) % 32;
        const int vector_row = vector(0, 0) + lane % 8 + lane / 16 * 8;
#pragma unroll
        for (int k = 0; k < kTileDepth / 16; ++k) {
            unsigned a[2][4], b[kPairs][4];
#pragma unroll
            for (int i = 0; i < 2; ++i) {
                load_matrices(a[i],
                              weights + swizzled(row(i) + lane % 16, 2 * k + lane / 16, kChunks));
            }
#pragma unroll
            for (int j = 0; j < kPairs; ++j) {
                load_matrices(
                    b[j], vectors + swizzled(vector_row + 16 * j, 2 * k + lane / 8 % 2, kChunks));
            }
#pragma unroll
            for (int j = 0; j < kPairs; ++j) {
#pragma unroll
                for (int i = 0; i < 2; ++i) {
                    multiply_add(v[i][2 * j], a[i], b[j][0], b[j][1]);
                    multiply_add(v[i][2 * j + 1], a[i], b[j][2], b[j][3]);
                }
            }
        }
    }
    __device__ void end() {}
};

#endif

#endif

}  // namespace steady::cuda
