// Tiles of matrices that are kept as floats: the router, types without planes, unquantised files.
// No tensor core multiplies floats with all their digits, so that these are plain multiplications.
// A block makes 64 × 64 outputs, or, where that would leave multiprocessors idle, 16 × 16 with its
// threads in groups that share the depth.
#include "kernels/cuda/tile_call.h"

namespace steady::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kStep = 16;  // values of a group's depth at a time

template <int kTile>
struct Layout {
    static constexpr int kOfGroup = kTile * kTile / 16;  // threads: 4 × 4 outputs each
    static constexpr int kGroups = kThreads / kOfGroup;
    static constexpr int kDepth = kStep * kGroups;
    // Padded, so that groups and neighbouring values lie in other banks.
    float w[kDepth][kTile + 4];
    float x[kDepth][kTile + 4];
};

// kDepth values from `first` on of kTile rows, transposed; all are asked for before the first is
// put down.
template <int kTile, int kDepth, class RowAt>
__device__ void load_transposed(float (&to)[kDepth][kTile + 4], int first, int cols, RowAt row_at) {
    constexpr int kEach = kDepth * kTile / kThreads;
    float values[kEach];
#pragma unroll
    for (int e = 0; e < kEach; ++e) {
        const int i = static_cast<int>(threadIdx.x) + e * kThreads, c = first + i % kDepth;
        values[e] = __ldg(row_at(i / kDepth) + min(c, cols - 1));
        if (c >= cols) values[e] = 0;
    }
#pragma unroll
    for (int e = 0; e < kEach; ++e) {
        const int i = static_cast<int>(threadIdx.x) + e * kThreads;
        to[i % kDepth][i / kDepth] = values[e];
    }
}

template <int kTile>
__device__ void add_step(float (&sums)[4][4], const Layout<kTile>& m, int group, int row,
                         int vector) {
#pragma unroll
    for (int k = group * kStep; k < (group + 1) * kStep; ++k) {
        const float4 a = *reinterpret_cast<const float4*>(&m.w[k][row]);
        const float4 b = *reinterpret_cast<const float4*>(&m.x[k][vector]);
        const float of_rows[4] = {a.x, a.y, a.z, a.w}, of_vectors[4] = {b.x, b.y, b.z, b.w};
#pragma unroll
        for (int v = 0; v < 4; ++v) {
#pragma unroll
            for (int r = 0; r < 4; ++r) sums[v][r] += of_rows[r] * of_vectors[v];
        }
    }
}

// The groups' sums, one after the other, in the threads of the first.
template <int kTile>
__device__ void join_groups(float (&sums)[4][4], Layout<kTile>& m, int group, int in_group) {
    constexpr int kOfGroup = Layout<kTile>::kOfGroup;
    auto* parts = reinterpret_cast<float*>(&m);
    static_assert(sizeof m >= 4 * 16 * kThreads);
#pragma unroll
    for (int e = 0; e < 16; ++e) parts[e * kThreads + threadIdx.x] = sums[e / 4][e % 4];
    __syncthreads();
    for (int other = 1; group == 0 && other < Layout<kTile>::kGroups; ++other) {
#pragma unroll
        for (int e = 0; e < 16; ++e) {
            sums[e / 4][e % 4] += parts[e * kThreads + other * kOfGroup + in_group];
        }
    }
    __syncthreads();
}

template <int kTile>
__device__ void one_tile(const TileCall& call, const Tile& tile, Layout<kTile>& m) {
    const Matrix& matrix = call.m[tile.which];
    const int rows = call.rows[tile.which];
    // Rows and vectors behind the last are the last: nobody writes their sums.
    const auto weight_row = [&](int r) {
        const long long row =
            static_cast<long long>(tile.group) * rows + min(tile.row + r, rows - 1);
        return reinterpret_cast<const float*>(matrix.w) + row * matrix.cols;
    };
    const auto vector_row = [&](int v) {
        return call.floats + vector_of(call, tile, min(v, tile.n - 1)) * matrix.cols;
    };
    constexpr int kOfGroup = Layout<kTile>::kOfGroup;
    const int group = static_cast<int>(threadIdx.x) / kOfGroup;
    const int in_group = static_cast<int>(threadIdx.x) % kOfGroup;
    const int row = in_group % (kTile / 4) * 4, vector = in_group / (kTile / 4) * 4;
    float sums[4][4] = {};
    for (int first = 0; first < matrix.cols; first += Layout<kTile>::kDepth) {
        load_transposed<kTile>(m.w, first, matrix.cols, weight_row);
        load_transposed<kTile>(m.x, first, matrix.cols, vector_row);
        __syncthreads();
        add_step(sums, m, group, row, vector);
        __syncthreads();
    }
    if constexpr (Layout<kTile>::kGroups > 1) join_groups(sums, m, group, in_group);
    if (group > 0) return;
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

template <int kTile>
__global__ void __launch_bounds__(kThreads)
    float_tiles_kernel(const __grid_constant__ TileCall call) {
    __shared__ __align__(16) Layout<kTile> m;
    let_consumers_start();
    wait_for_producers();
    Tile tile;
    if (!find_tile(call, call.lists.first != nullptr ? call.lists.tile : kTile, tile)) return;
    const int n = tile.n;
    for (int done = 0; done < n; done += kTile) {
        Tile part = tile;
        part.first += done;
        part.n = min(kTile, n - done);
        one_tile(call, part, m);
    }
}

}  // namespace

void multiply_float_tiles(const TileCall& call, Size size) {
    size.threads = kThreads;
    call.tile_rows == kFloatTile ? launch(float_tiles_kernel<kFloatTile>, size, call)
                                 : launch(float_tiles_kernel<kSmallFloatTile>, size, call);
}

}  // namespace steady::cuda
