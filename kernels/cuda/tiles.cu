// Tiles of 128 rows and 64 or 128 vectors through the tensor cores. Weights stay as they lie until
// a block has them: a thread loads units of 32, makes halves of them and puts those into shared
// memory while the tile before is multiplied. The product's halves are 64 times the weights, so
// that small ones keep their digits; a vector's are under a power of two of its own.
#include <algorithm>

#include "kernels/cuda/tile_call.h"
#include "kernels/cuda/tile_steps.h"
#include "kernels/cuda/tile_weights.h"

namespace steady::cuda {
namespace {

constexpr int kWeightStages = 2, kVectorStages = 3;

constexpr std::size_t tile_bytes(int vectors) {
    return static_cast<std::size_t>(
        16 * kChunks * (kWeightStages * kTileRows + kVectorStages * vectors) + 8 * vectors);
}

// A thread's share of a tile's weights: of the two units that a step has of a row one, of one row
// with 256 threads and of two with 128. Two lanes read 32 bytes of a row.
template <Form kForm, int kN>
struct WeightPart {
    static constexpr int kHeld = 2 / kN;
    RowParts at[kHeld];
    int row, which, units, rows;
    bool eights;
    RowUnit<kForm> held[kHeld];

    __device__ WeightPart(const TileCall& call, const Tile& tile) {
        const Matrix& m = call.m[tile.which];
        row = static_cast<int>(threadIdx.x) / 2;
        which = static_cast<int>(threadIdx.x) % 2;
        units = m.cols / 32;
        eights = units % 8 == 0;
        rows = call.rows[tile.which] - tile.row;
#pragma unroll
        for (int i = 0; i < kHeld; ++i) {
            const int r = tile.row + min(row + 64 * i, rows - 1);
            at[i] = Unit<kForm>::row(m, tile.group * call.rows[tile.which] + r);
        }
    }
    __device__ void load(int step) {
        const int u = 2 * step + which;
#pragma unroll
        for (int i = 0; i < kHeld; ++i) {
            if (u < units) held[i].load(at[i], u, eights);
        }
    }
    __device__ void store(int step, uint4* to) {
        const int u = 2 * step + which;
#pragma unroll
        for (int i = 0; i < kHeld; ++i) {
            uint4 out[4] = {};
            if (u < units && row + 64 * i < rows) halves_of(held[i].scaled(u, eights), out);
#pragma unroll
            for (int c = 0; c < 4; ++c) {
                to[swizzled(row + 64 * i, 4 * which + c, kChunks)] = out[c];
            }
        }
    }
};

// And of its vectors: the same 16 bytes of four rows.
template <int kN>
struct VectorPart {
    const uint4* from;
    int at[4];  // beyond it; −1: none
    int chunk, row;

    __device__ VectorPart(const TileCall& call, const Tile& tile) {
        chunk = static_cast<int>(threadIdx.x) % kChunks;
        row = static_cast<int>(threadIdx.x) / kChunks;
        from = reinterpret_cast<const uint4*>(call.halves) + chunk;
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            const int v = row + 16 * kN * i;
            at[i] =
                v < tile.n ? static_cast<int>(vector_of(call, tile, v)) * (call.x_step / 8) : -1;
        }
    }
    __device__ void copy(int step, uint4* to) const {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            copy_ahead(to + swizzled(row + 16 * kN * i, chunk, kChunks),
                       from + max(at[i], 0) + step * kChunks, at[i] >= 0);
        }
    }
};

// What the outputs of a vector need: asked for before the first step, since at the end every
// thread would wait for it.
struct Output {
    float scale;
    int at;  // in y and in the residual; −1: no vector of the tile
};

__device__ void find_outputs(const TileCall& call, const Tile& tile, Output* outputs, int vectors) {
    for (int v = static_cast<int>(threadIdx.x); v < vectors; v += static_cast<int>(blockDim.x)) {
        outputs[v] = {0, -1};
        if (v >= tile.n) continue;
        const float scale =
            call.scale != nullptr ? __ldcg(call.scale + vector_of(call, tile, v)) : 1.0F;
        outputs[v] = {scale / kWeightScale, static_cast<int>(output_of(call, tile, v))};
    }
}

template <int kN, int kMost>
__device__ void write_sums(const TileCall& call, const Tile& tile, TileSums<kN, kMost>& sums,
                           const Output* outputs) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int rows = call.rows[tile.which] - tile.row;
    float* y = call.y[tile.which] + tile.row;
#pragma unroll
    for (int i = 0; i < 2; ++i) {
        const int row = sums.row(i) + lane / 4;
        // A residual's values are all asked for before the first is added to.
        float before[8][4] = {};
        if (call.residual != nullptr) {
#pragma unroll
            for (int e = 0; e < 32; ++e) {
                const int at = outputs[sums.vector(i, e / 4) + 2 * (lane % 4) + e % 2].at;
                const int r = min(row + 8 * (e / 2 % 2), rows - 1);
                before[e / 4][e % 4] = __ldcg(call.residual + tile.row + max(at, 0) + r);
            }
        }
#pragma unroll
        for (int e = 0; e < 32; ++e) {
            const Output out = outputs[sums.vector(i, e / 4) + 2 * (lane % 4) + e % 2];
            const int r = row + 8 * (e / 2 % 2);
            if (out.at < 0 || r >= rows) continue;
            y[out.at + r] = before[e / 4][e % 4] + sums.v[i][e / 4][e % 4] * out.scale;
        }
    }
}

// kMost: vectors that count, at most.
template <Form kForm, int kN, int kMost>
__device__ void run_tile(const TileCall& call, const Tile& tile, uint4* memory) {
    constexpr int kVectors = kTileVectors * kN;
    const auto weights = [&](int step) {
        return memory + step % kWeightStages * kTileRows * kChunks;
    };
    const auto vectors = [&](int step) {
        return memory + (kWeightStages * kTileRows + step % kVectorStages * kVectors) * kChunks;
    };
    auto* outputs = reinterpret_cast<Output*>(
        memory + (kWeightStages * kTileRows + kVectorStages * kVectors) * kChunks);
    WeightPart<kForm, kN> w(call, tile);
    const VectorPart<kN> x(call, tile);
    const int steps = (w.units + 1) / 2;
    w.load(0);
    x.copy(0, vectors(0));
    commit_copies();
    if (steps > 1) x.copy(1, vectors(1));
    commit_copies();
    find_outputs(call, tile, outputs, kVectors);
    w.store(0, weights(0));
    w.load(1);
    wait_for_copies<1>();
    show_tensor_cores();
    __syncthreads();
    TileSums<kN, kMost> sums;
    for (int step = 0; step < steps; ++step) {
        if (step + 2 < steps) x.copy(step + 2, vectors(step + 2));
        commit_copies();
        sums.begin(weights(step), vectors(step));
        if (step + 1 < steps) {
            w.store(step + 1, weights(step + 1));
            w.load(step + 2);
        }
        sums.end();
        wait_for_copies<1>();
        show_tensor_cores();
        __syncthreads();
    }
    write_sums(call, tile, sums, outputs);
}

template <Form kForm, int kN>
__global__ void __launch_bounds__(128 * kN, kN == 1 ? 3 : 2)
    tiles_kernel(const __grid_constant__ TileCall call) {
    extern __shared__ __align__(1024) uint4 memory[];
    let_consumers_start();
    wait_for_producers();
    Tile tile;
    if (!find_tile(call, kTileVectors * kN, tile)) return;
    if constexpr (kN == 1) {
        if (tile.n <= 32) return run_tile<kForm, 1, 32>(call, tile, memory);
    }
    run_tile<kForm, kN, kTileVectors * kN>(call, tile, memory);
}

template <Form kForm>
void launch_form(const TileCall& call, Size size, int vectors) {
    size.shared_bytes = tile_bytes(vectors);
    size.threads = 2 * vectors;
    vectors == kTileVectors ? launch(tiles_kernel<kForm, 1>, size, call)
                            : launch(tiles_kernel<kForm, 2>, size, call);
}

// Cuts the matrices' rows into tiles of so many; how many there are.
int cut_rows(TileCall& call, int tile_rows) {
    int row_tiles = 0;
    call.tile_rows = tile_rows;
    for (int i = 0; i < 3; ++i) {
        call.first_tile[i] = row_tiles;
        row_tiles += (call.rows[i] + tile_rows - 1) / tile_rows;
    }
    return row_tiles;
}

void launch_call(TileCall call, const TileProduct& p, Form form) {
    const bool halves = form != Form::floats && form != Form::scalars;
    const bool listed = p.lists.first != nullptr;
    const auto blocks = [&](int row_tiles, int vectors) {
        return row_tiles *
               (listed ? p.lists.most_tiles : p.groups * ((p.n + vectors - 1) / vectors));
    };
    // Large tiles read weights less often; where they would leave multiprocessors idle, small ones.
    int vectors = halves ? tile_vectors(p.n) : kFloatTile;
    int row_tiles = cut_rows(call, halves ? kTileRows : kFloatTile);
    if (halves && blocks(row_tiles, vectors) < 2 * multiprocessors()) vectors = kTileVectors;
    if (!halves && blocks(row_tiles, vectors) < multiprocessors()) {
        vectors = kSmallFloatTile;
        row_tiles = cut_rows(call, kSmallFloatTile);
    }
    call.tiles_of_group = (p.n + vectors - 1) / vectors;
    call.vector_tiles = listed ? p.lists.most_tiles : p.groups * call.tiles_of_group;
    if (listed) vectors = p.lists.tile;
    Size size;
    size.blocks = call.vector_tiles * row_tiles;
    switch (form) {
        case Form::q4_0:
            return launch_form<Form::q4_0>(call, size, vectors);
        case Form::q5_k:
            return launch_form<Form::q5_k>(call, size, vectors);
        case Form::q6_k:
            return launch_form<Form::q6_k>(call, size, vectors);
        case Form::q8_0:
            return launch_form<Form::q8_0>(call, size, vectors);
        default:
            return multiply_float_tiles(call, size);
    }
}

}  // namespace

void multiply_tiles(const TileProduct& p) {
    bool alike = true;
    for (int i = 1; i < p.matrices; ++i) alike = alike && p.m[i].form == p.m[0].form;
    const int at_once = alike ? p.matrices : 1;
    for (int first = 0; first < p.matrices; first += at_once) {
        TileCall call = {};
        for (int i = 0; i < at_once; ++i) {
            call.m[i] = p.m[first + i];
            call.y[i] = p.y[first + i];
            call.y_stride[i] = p.y_stride[first + i];
            call.rows[i] = call.m[i].rows / p.groups;
        }
        call.groups = p.groups;
        call.y_group_step = p.y_group_step;
        call.n = p.n;
        call.halves = p.x.halves;
        call.scale = p.x.scale;
        call.floats = p.x.floats;
        call.x_step = static_cast<int>(padded_to_depth(call.m[0].cols));
        call.residual = first == 0 ? p.residual : nullptr;
        call.lists = p.lists;
        launch_call(call, p, call.m[0].form);
    }
}

}  // namespace steady::cuda
