// Tiles of matrices that are kept as floats: the router, types without planes, unquantised files.
// No tensor core multiplies floats with all their digits, so that these are plain multiplications,
// 64 × 64 outputs to a block.
#include "kernels/cuda/tile_call.h"

namespace steady::cuda {
namespace {

constexpr int kDepth = 16;

// Values [first, first + kDepth) of 64 rows, transposed. row_at(r) is null for rows that are none.
template <class RowAt>
__device__ void load_transposed(float (&to)[kDepth][kFloatTile + 4], int first, int cols,
                                RowAt row_at) {
    const int c = static_cast<int>(threadIdx.x) % kDepth;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        const int r = static_cast<int>(threadIdx.x) / kDepth + 16 * i;
        const float* row = row_at(r);
        to[c][r] = row != nullptr && first + c < cols ? __ldg(row + first + c) : 0.0F;
    }
}

__device__ void one_tile(const TileCall& call, const Tile& tile, float (&w)[kDepth][kFloatTile + 4],
                         float (&x)[kDepth][kFloatTile + 4]) {
    const Matrix& m = call.m[tile.which];
    const int rows = call.rows[tile.which];
    const auto weight_row = [&](int r) -> const float* {
        if (tile.row + r >= rows) return nullptr;
        return reinterpret_cast<const float*>(m.w) +
               (static_cast<long long>(tile.group) * rows + tile.row + r) * m.cols;
    };
    const auto vector_row = [&](int v) -> const float* {
        return v < tile.n ? call.floats + vector_of(call, tile, v) * m.cols : nullptr;
    };
    const int row = static_cast<int>(threadIdx.x) % 16 * 4;
    const int vector = static_cast<int>(threadIdx.x) / 16 * 4;
    float sums[4][4] = {};
    for (int first = 0; first < m.cols; first += kDepth) {
        load_transposed(w, first, m.cols, weight_row);
        load_transposed(x, first, m.cols, vector_row);
        __syncthreads();
#pragma unroll
        for (int k = 0; k < kDepth; ++k) {
            const float4 a = *reinterpret_cast<const float4*>(&w[k][row]);
            const float4 b = *reinterpret_cast<const float4*>(&x[k][vector]);
            const float of_rows[4] = {a.x, a.y, a.z, a.w}, of_vectors[4] = {b.x, b.y, b.z, b.w};
#pragma unroll
            for (int v = 0; v < 4; ++v) {
#pragma unroll
                for (int r = 0; r < 4; ++r) sums[v][r] += of_rows[r] * of_vectors[v];
            }
        }
        __syncthreads();
    }
#pragma unroll
    for (int v = 0; v < 4; ++v) {
        if (vector + v >= tile.n) continue;
        const long long at = output_of(call, tile, vector + v) + tile.row;
#pragma unroll
        for (int r = 0; r < 4; ++r) {
            if (tile.row + row + r >= rows) continue;
            const float before =
                call.residual != nullptr ? __ldcg(call.residual + at + row + r) : 0.0F;
            call.y[tile.which][at + row + r] = before + sums[v][r];
        }
    }
}

__global__ void __launch_bounds__(256) float_tiles_kernel(const __grid_constant__ TileCall call) {
    __shared__ __align__(16) float w[kDepth][kFloatTile + 4];
    __shared__ __align__(16) float x[kDepth][kFloatTile + 4];
    let_consumers_start();
    wait_for_producers();
    const int vectors = call.lists.first != nullptr ? call.lists.tile : kFloatTile;
    Tile tile;
    if (!find_tile(call, vectors, tile)) return;
    const int n = tile.n;
    for (int done = 0; done < n; done += kFloatTile) {
        Tile part = tile;
        part.first += done;
        part.n = min(kFloatTile, n - done);
        one_tile(call, part, w, x);
    }
}

}  // namespace

void multiply_float_tiles(const TileCall& call, Size size) {
    size.threads = 256;
    launch(float_tiles_kernel, size, call);
}

}  // namespace steady::cuda
