// Tiles of 128 rows and 64 or 128 vectors through the tensor cores. Weights stay as they lie until
// a block has them: a thread loads units of 32, makes halves of them and puts those into shared
// memory while the tile before is multiplied. The product's halves are 64 times the weights, so
// that small ones keep their digits; a vector's are under a power of two of its own.
#include <algorithm>

#include "kernels/cuda/tile_call.h"

namespace steady::cuda {
namespace {

constexpr float kWeightScale = 64;

__device__ __half2 two_halves(unsigned bits) { return *reinterpret_cast<__half2*>(&bits); }
__device__ unsigned bits_of(__half2 v) { return *reinterpret_cast<unsigned*>(&v); }

// Four unsigned bytes q as halves (q − zero) · scale − less. A byte below 1024's exponent is 1024 +
// q exactly; kZero is 1024 + zero.
template <unsigned kZero, bool kLess>
__device__ uint2 four_halves(unsigned bytes, __half2 scale, __half2 less) {
    const __half2 zero = two_halves(kZero | kZero << 16);
    const __half2 a = __hsub2(two_halves(__byte_perm(bytes, 0x64646464U, 0x4140)), zero);
    const __half2 b = __hsub2(two_halves(__byte_perm(bytes, 0x64646464U, 0x4342)), zero);
    if constexpr (kLess) {
        return {bits_of(__hfma2(a, scale, less)), bits_of(__hfma2(b, scale, less))};
    }
    return {bits_of(__hmul2(a, scale)), bits_of(__hmul2(b, scale))};
}

// The 32 values of a unit whose bytes are in order, 16 bytes of halves at a time.
template <unsigned kZero, bool kLess = false>
__device__ void put_halves(const unsigned (&bytes)[8], float low, float high, float less,
                           uint4 (&out)[4]) {
    const __half2 scale[2] = {__float2half2_rn(low * kWeightScale),
                              __float2half2_rn(high * kWeightScale)};
    const __half2 less2 = __float2half2_rn(-less * kWeightScale);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        const uint2 a = four_halves<kZero, kLess>(bytes[2 * i], scale[i / 2], less2);
        const uint2 b = four_halves<kZero, kLess>(bytes[2 * i + 1], scale[i / 2], less2);
        out[i] = {a.x, a.y, b.x, b.y};
    }
}

__device__ void words_of(const uint4& q, unsigned (&words)[8]) {
    const unsigned all[4] = {q.x, q.y, q.z, q.w};
#pragma unroll
    for (int w = 0; w < 4; ++w) {
        words[w] = all[w] & 0x0F0F0F0FU;
        words[w + 4] = all[w] >> 4 & 0x0F0F0F0FU;
    }
}

__device__ void halves_of(const Unit<Form::q4_0>& unit, uint4 (&out)[4]) {
    unsigned words[8];
    words_of(unit.q, words);
    const float d = half_value(unit.d);
    put_halves<0x6408>(words, d, d, 0, out);
}
__device__ void halves_of(const Unit<Form::q8_0>& unit, uint4 (&out)[4]) {
    constexpr unsigned kSign = 0x80808080U;
    const unsigned words[8] = {unit.q[0].x ^ kSign, unit.q[0].y ^ kSign, unit.q[0].z ^ kSign,
                               unit.q[0].w ^ kSign, unit.q[1].x ^ kSign, unit.q[1].y ^ kSign,
                               unit.q[1].z ^ kSign, unit.q[1].w ^ kSign};
    const float d = half_value(unit.d);
    put_halves<0x6480>(words, d, d, 0, out);
}
__device__ void halves_of(const Unit<Form::q5_k>& unit, uint4 (&out)[4]) {
    unsigned words[8];
    words_of(unit.q, words);
#pragma unroll
    for (int w = 0; w < 8; ++w) words[w] |= unit.fifth(w);
    put_halves<0x6400, true>(words, unit.scale(), unit.scale(), unit.least(), out);
}
__device__ void halves_of(const Unit<Form::q6_k>& unit, uint4 (&out)[4]) {
    unsigned words[8];
    words_of(unit.q, words);
#pragma unroll
    for (int w = 0; w < 4; ++w) {
        words[w] |= Unit<Form::q6_k>::pair(unit.upper.x, w);
        words[w + 4] |= Unit<Form::q6_k>::pair(unit.upper.y, w);
    }
    const float d = half_value(unit.d);
    put_halves<0x6420>(words, d * static_cast<float>(static_cast<signed char>(unit.both & 0xFF)),
                       d * static_cast<float>(static_cast<signed char>(unit.both >> 8)), 0, out);
}

// Several blocks read a weight, one vector tile after the other: it stays in the second level.
struct ReadAgain {
    __device__ static uint4 wide(const uint4* p) { return __ldg(p); }
    template <class T>
    __device__ static T narrow(const T* p) {
        return __ldg(p);
    }
};

constexpr int kChunks = kTileDepth / 8;  // of 16 bytes, in a row of a tile
constexpr int kWeightStages = 2, kVectorStages = 3;

constexpr std::size_t tile_bytes(int vectors) {
    return static_cast<std::size_t>(16 * kChunks *
                                    (kWeightStages * kTileRows + kVectorStages * vectors));
}

// A thread's share of a tile's weights: a row's units, two with 128 threads, one with 256.
template <Form kForm, int kN>
struct WeightPart {
    static constexpr int kHeld = 2 / kN;
    using U = Unit<kForm>;
    RowParts at;
    int row, first, units;
    bool present;
    U held[kHeld];

    __device__ WeightPart(const TileCall& call, const Tile& tile) {
        const Matrix& m = call.m[tile.which];
        row = static_cast<int>(threadIdx.x) / kN;
        first = static_cast<int>(threadIdx.x) % kN;
        units = U::units(m.cols);
        present = tile.row + row < call.rows[tile.which];
        at = U::row(m, tile.group * call.rows[tile.which] + (present ? tile.row + row : 0));
    }
    __device__ void load(int step) {
#pragma unroll
        for (int i = 0; i < kHeld; ++i) {
            const int u = 2 * step + first + i;
            if (present && u < units) held[i].template load<ReadAgain>(at, u);
        }
    }
    __device__ void store(int step, uint4* to) const {
#pragma unroll
        for (int i = 0; i < kHeld; ++i) {
            uint4 out[4] = {};
            if (present && 2 * step + first + i < units) halves_of(held[i], out);
#pragma unroll
            for (int c = 0; c < 4; ++c) to[swizzled(row, 4 * (first + i) + c, kChunks)] = out[c];
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
            at[i] = v < tile.n ? static_cast<int>(vector_of(call, tile, v)) * (call.x_step / 8) : -1;
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

// A warp's 32 rows and 64 vectors.
__device__ void multiply_step(float (&sums)[2][8][4], const uint4* weights, const uint4* vectors,
                              int row, int vector, int n) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int vector_row = vector + lane % 8 + lane / 16 * 8;
#pragma unroll
    for (int k = 0; k < kTileDepth / 16; ++k) {
        unsigned a[2][4];
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            load_matrices(
                a[i], weights + swizzled(row + 16 * i + lane % 16, 2 * k + lane / 16, kChunks));
        }
#pragma unroll
        for (int j = 0; j < 4; ++j) {
            if (vector + 16 * j >= n) continue;
            unsigned b[4];
            load_matrices(
                b, vectors + swizzled(vector_row + 16 * j, 2 * k + lane / 8 % 2, kChunks));
#pragma unroll
            for (int i = 0; i < 2; ++i) {
                multiply_add(sums[i][2 * j], a[i], b[0], b[1]);
                multiply_add(sums[i][2 * j + 1], a[i], b[2], b[3]);
            }
        }
    }
}

__device__ void write_sums(const TileCall& call, const Tile& tile, const float (&sums)[2][8][4],
                           int row, int vector) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
    for (int j = 0; j < 8; ++j) {
#pragma unroll
        for (int c = 0; c < 2; ++c) {
            const int v = vector + 8 * j + 2 * (lane % 4) + c;
            if (v >= tile.n) continue;
            const float scale =
                (call.scale != nullptr ? __ldcg(call.scale + vector_of(call, tile, v)) : 1.0F) /
                kWeightScale;
            const long long at = output_of(call, tile, v);
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                const int r = tile.row + row + 8 * i + lane / 4;
                if (r >= call.rows[tile.which]) continue;
                const float before = call.residual != nullptr ? __ldcg(call.residual + at + r) : 0;
                call.y[tile.which][at + r] = before + sums[i / 2][j][i % 2 * 2 + c] * scale;
            }
        }
    }
}

template <Form kForm, int kN>
__global__ void __launch_bounds__(128 * kN, kN == 1 ? 3 : 2)
    tiles_kernel(const __grid_constant__ TileCall call) {
    extern __shared__ uint4 memory[];
    constexpr int kVectors = kTileVectors * kN;
    let_consumers_start();
    wait_for_producers();
    Tile tile;
    if (!find_tile(call, kVectors, tile)) return;
    const auto weights = [&](int step) {
        return memory + step % kWeightStages * kTileRows * kChunks;
    };
    const auto vectors = [&](int step) {
        return memory + (kWeightStages * kTileRows + step % kVectorStages * kVectors) * kChunks;
    };
    WeightPart<kForm, kN> w(call, tile);
    const VectorPart<kN> x(call, tile);
    const int steps = (w.units + 1) / 2;
    w.load(0);
    x.copy(0, vectors(0));
    commit_copies();
    if (steps > 1) x.copy(1, vectors(1));
    commit_copies();
    w.store(0, weights(0));
    w.load(1);
    wait_for_copies<1>();
    __syncthreads();
    const int warp = static_cast<int>(threadIdx.x) / 32;
    const int row = warp % 4 * 32, vector = warp / 4 * kTileVectors;
    float sums[2][8][4] = {};
    for (int step = 0; step < steps; ++step) {
        if (step + 2 < steps) x.copy(step + 2, vectors(step + 2));
        commit_copies();
        multiply_step(sums, weights(step), vectors(step), row, vector, tile.n);
        if (step + 1 < steps) {
            w.store(step + 1, weights(step + 1));
            w.load(step + 2);
        }
        wait_for_copies<1>();
        __syncthreads();
    }
    write_sums(call, tile, sums, row, vector);
}

template <Form kForm>
void launch_form(const TileCall& call, Size size, int vectors) {
    size.shared_bytes = tile_bytes(vectors);
    size.threads = 2 * vectors;
    vectors == kTileVectors ? launch(tiles_kernel<kForm, 1>, size, call)
                            : launch(tiles_kernel<kForm, 2>, size, call);
}

void launch_call(TileCall call, const TileProduct& p, Form form) {
    const int in_lists = p.lists.tile;
    const bool halves = form != Form::floats && form != Form::scalars;
    int row_tiles = 0;
    const int rows_of_tile = halves ? kTileRows : kFloatTile;
    for (int i = 0; i < 3; ++i) {
        call.first_tile[i] = row_tiles;
        row_tiles += (call.rows[i] + rows_of_tile - 1) / rows_of_tile;
    }
    // Large tiles read weights less often; where they would leave multiprocessors idle, small ones.
    int vectors = in_lists;
    if (p.lists.first == nullptr) {
        const auto blocks = [&](int of) { return row_tiles * p.groups * ((p.n + of - 1) / of); };
        vectors = tile_vectors(p.n);
        if (blocks(vectors) < 2 * multiprocessors()) vectors = kTileVectors;
        if (!halves) vectors = kFloatTile;
        call.tiles_of_group = (p.n + vectors - 1) / vectors;
        call.vector_tiles = p.groups * call.tiles_of_group;
    } else {
        call.vector_tiles = p.lists.most_tiles;
    }
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
