// What the kernels of tiles are told, and how a block finds its own. For .cu files alone.
#pragma once

#include "kernels/cuda/tiles.h"

namespace steady::cuda {

constexpr int kFloatTile = 64;       // rows, and vectors, of a tile of floats
constexpr int kSmallFloatTile = 16;  // where there are few

struct TileCall {
    Matrix m[3];
    float* y[3];
    int y_stride[3], rows[3];  // rows of a group
    int first_tile[3];         // of each matrix, counted over them
    int groups, y_group_step, n;
    int vector_tiles, tiles_of_group, tile_rows;
    const unsigned short* halves;
    const float* scale;
    const float* floats;
    int x_step;  // halves of a vector
    const float* residual;
    TileLists lists;
};

struct Tile {
    int which;       // matrix
    int group, row;  // first row, in the group
    int first, n;    // first vector, in the group or the lists, and how many
};

#ifdef __CUDACC__

__device__ inline bool find_tile(const TileCall& call, int vectors, Tile& tile) {
    const int block = static_cast<int>(blockIdx.x);
    const int of_vectors = block % call.vector_tiles, of_rows = block / call.vector_tiles;
    tile.which = 0;
#pragma unroll
    for (int i = 1; i < 3; ++i) {
        if (call.rows[i] > 0 && of_rows >= call.first_tile[i]) tile.which = i;
    }
    tile.row = of_rows - call.first_tile[tile.which];
    int end = call.n;
    if (call.lists.first == nullptr) {
        tile.group = of_vectors / call.tiles_of_group;
        tile.first = of_vectors % call.tiles_of_group * vectors;
    } else {
        if (of_vectors >= __ldcg(call.lists.n_tiles)) return false;
        tile.group = __ldcg(call.lists.tiles + 2 * of_vectors);
        tile.first = __ldcg(call.lists.tiles + 2 * of_vectors + 1);
        end = __ldcg(call.lists.first + tile.group + 1);
    }
    tile.n = min(vectors, end - tile.first);
    tile.row *= call.tile_rows;
    return true;
}

// Which vector is number v of the tile, and where its outputs begin.
__device__ inline long long vector_of(const TileCall& call, const Tile& tile, int v) {
    const int place = tile.first + v;
    if (call.lists.first == nullptr)
        return static_cast<long long>(place) * call.groups + tile.group;
    return call.lists.x_row != nullptr ? __ldcg(call.lists.x_row + place) : place;
}
__device__ inline long long output_of(const TileCall& call, const Tile& tile, int v) {
    return static_cast<long long>(tile.first + v) * call.y_stride[tile.which] +
           (call.lists.first == nullptr ? tile.group * call.y_group_step : 0);
}

#endif

// Matrices of floats, by plain multiplications: their digits stay. Lists may have larger tiles.
void multiply_float_tiles(const TileCall& call, Size size);

}  // namespace steady::cuda
