// A batch's attention on a GPU: 64 rows of queries, each a token and a head, to a block of eight
// warps. Four pairs of warps take 16 rows each; of a pair each makes the scores of half a tile's
// positions and the sums of half the latent values. The next tile of the cache is on its way
// meanwhile.
#include <cuda_bf16.h>

#include "kernels/cuda/tiles.h"
#include "kernels/mla_batch/cuda.h"

namespace steady::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kRows = 64, kPositions = 64;
constexpr int kPairs = static_cast<int>(kMostBatchRank) / 32;  // of a warp's sums: 16 values each
constexpr int kTogether = 4;  // matrices that are asked for before the first is multiplied

enum class Value : int { f32, f16, bf16 };

struct RowsCall {
    const float* kv;
    const float* norm;
    const float* cos;
    const float* sin;
    unsigned char* cache;
    Value value;
    float eps;
    int rank, rot, first;
};

__device__ void put_value(unsigned char* cache, Value value, long long at, float v) {
    if (value == Value::f32) reinterpret_cast<float*>(cache)[at] = v;
    if (value == Value::f16) reinterpret_cast<__half*>(cache)[at] = __float2half_rn(v);
    if (value == Value::bf16) reinterpret_cast<__nv_bfloat16*>(cache)[at] = __float2bfloat16_rn(v);
}

__global__ void rows_kernel(const __grid_constant__ RowsCall call) {
    __shared__ float parts[32];
    let_consumers_start();
    wait_for_producers();
    const int token = static_cast<int>(blockIdx.x), position = call.first + token;
    const int width = call.rank + call.rot, threads = static_cast<int>(blockDim.x);
    const float* kv = call.kv + static_cast<long long>(token) * width;
    const long long to = static_cast<long long>(position) * width;
    float squares = 0;
    for (int i = static_cast<int>(threadIdx.x); i < call.rank; i += threads) {
        const float v = __ldcg(kv + i);
        squares += v * v;
    }
    const float factor =
        rsqrtf(block_sum(squares, parts) / static_cast<float>(call.rank) + call.eps);
    for (int i = static_cast<int>(threadIdx.x); i < call.rank; i += threads) {
        put_value(call.cache, call.value, to + i, __ldcg(kv + i) * factor * __ldg(call.norm + i));
    }
    const int half = call.rot / 2;
    for (int i = static_cast<int>(threadIdx.x); i < half; i += threads) {
        const float a = __ldcg(kv + call.rank + 2 * i), b = __ldcg(kv + call.rank + 2 * i + 1);
        const float c = __ldg(call.cos + static_cast<long long>(position) * half + i);
        const float s = __ldg(call.sin + static_cast<long long>(position) * half + i);
        put_value(call.cache, call.value, to + call.rank + 2 * i, a * c - b * s);
        put_value(call.cache, call.value, to + call.rank + 2 * i + 1, a * s + b * c);
    }
}

struct CopyCall {
    const unsigned char* cache;
    Value value;
    int rank, rot, padded_rank, padded_rot;
    unsigned short* to;
};

__global__ void copy_kernel(const __grid_constant__ CopyCall call) {
    let_consumers_start();
    wait_for_producers();
    const long long position = blockIdx.x, width = call.rank + call.rot;
    const int padded = call.padded_rank + call.padded_rot;
    for (int i = static_cast<int>(threadIdx.x); i < padded; i += static_cast<int>(blockDim.x)) {
        const int from = i < call.padded_rank ? i : i - call.padded_rank + call.rank;
        const bool present = i < call.padded_rank ? i < call.rank : from < width;
        float v = 0;
        if (present) {
            const long long at = position * width + from;
            v = call.value == Value::f32 ? reinterpret_cast<const float*>(call.cache)[at]
                : call.value == Value::f16
                    ? __half2float(reinterpret_cast<const __half*>(call.cache)[at])
                    : __bfloat162float(reinterpret_cast<const __nv_bfloat16*>(call.cache)[at]);
        }
        call.to[position * padded + i] = __half_as_ushort(__float2half_rn(v));
    }
}

struct AttendCall {
    const float* q;       // [rows][head_size], its last n_rot values before rotation
    const float* latent;  // [rows][rank]
    const float* cos;
    const float* sin;
    const unsigned short* cache;  // [n_positions][padded_rank + padded_rot]
    int rows, heads, head_size, n_nope, n_rot, rank, padded_rank, padded_rot;
    int first, n_positions;
    float scale;  // for powers of two
    unsigned short* halves;
    float* floats;
};

struct Shared {
    uint4* query;    // [kRows][chunks]
    uint4* cache;    // two tiles of [kPositions][chunks]
    uint4* weights;  // [kRows][kPositions / 8]
    float* factor;   // [kRows]: of a score
    float* most;     // [2][kRows]
    float* total;    // [2][kRows]
};

__host__ __device__ inline std::size_t shared_bytes(int chunks) {
    return static_cast<std::size_t>(16 * chunks * (kRows + 2 * kPositions) +
                                    2 * kRows * kPositions + 5 * 4 * kRows);
}

__device__ Shared shared_at(uint4* memory, int chunks) {
    Shared s;
    s.query = memory;
    s.cache = s.query + kRows * chunks;
    s.weights = s.cache + 2 * kPositions * chunks;
    s.factor = reinterpret_cast<float*>(s.weights + kRows * kPositions / 8);
    s.most = s.factor + kRows;
    s.total = s.most + 2 * kRows;
    return s;
}

// A lane's two rotated values of a query's row, behind the latent part.
__device__ float2 rotated_pair(const AttendCall& call, int row, int position, int pair) {
    const int half = call.n_rot / 2, i = min(pair, half - 1);
    const float* q = call.q + static_cast<long long>(row) * call.head_size + call.n_nope + 2 * i;
    const float a = __ldcg(q), b = __ldcg(q + 1);
    const float c = __ldg(call.cos + position * half + i);
    const float s = __ldg(call.sin + position * half + i);
    return pair < half ? float2{a * c - b * s, a * s + b * c} : float2{0, 0};
}

// A row's values in the lanes of a warp. None is asked for under a condition, so that all are under
// way at once: what is none is the last one, and zero afterwards.
struct QueryRow {
    static constexpr int kOfLane = static_cast<int>(kMostBatchRank) / 32;
    static constexpr int kRotOfLane = static_cast<int>(kMostBatchWidth) / 64;
    float values[kOfLane];
    float2 turned[kRotOfLane];

    __device__ void ask(const AttendCall& call, int row) {
        const int lane = static_cast<int>(threadIdx.x) % 32;
        row = min(row, call.rows - 1);
        const int position = call.first + row / call.heads;
        const float* latent = call.latent + static_cast<long long>(row) * call.rank;
#pragma unroll
        for (int i = 0; i < kOfLane; ++i) {
            values[i] = __ldcg(latent + min(lane + 32 * i, call.rank - 1));
        }
#pragma unroll
        for (int i = 0; i < kRotOfLane; ++i) {
            turned[i] = 64 * i < call.padded_rot ? rotated_pair(call, row, position, lane + 32 * i)
                                                 : float2{0, 0};
        }
    }
    __device__ void put(const AttendCall& call, const Shared& s, int r, int chunks) {
        const int lane = static_cast<int>(threadIdx.x) % 32;
        float largest = 0;
#pragma unroll
        for (int i = 0; i < kOfLane; ++i) {
            values[i] = lane + 32 * i < call.rank ? values[i] : 0.0F;
            largest = fmaxf(largest, fabsf(values[i]));
        }
#pragma unroll
        for (int i = 0; i < kRotOfLane; ++i) {
            largest = fmaxf(largest, fmaxf(fabsf(turned[i].x), fabsf(turned[i].y)));
        }
        const float scale = scale_for(warp_largest(largest)), inverse = 1.0F / scale;
        const auto at = [&](int i) {
            return reinterpret_cast<__half*>(s.query + swizzled(r, i / 8, chunks)) + i % 8;
        };
#pragma unroll
        for (int i = 0; i < kOfLane; ++i) {
            const int to = lane + 32 * i;
            if (to < call.padded_rank) *at(to) = __float2half_rn(values[i] * inverse);
        }
#pragma unroll
        for (int i = 0; i < kRotOfLane; ++i) {
            const int to = call.padded_rank + 2 * lane + 64 * i;
            if (64 * i >= call.padded_rot) continue;
            *reinterpret_cast<__half2*>(at(to)) =
                __floats2half2_rn(turned[i].x * inverse, turned[i].y * inverse);
        }
        if (lane == 0) s.factor[r] = scale * call.scale;
    }
};

// A warp takes two rows at a time.
__device__ void load_queries(const AttendCall& call, const Shared& s, int first_row, int chunks) {
    constexpr int kTwo = 2, kWarps = kThreads / 32;
    for (int r = static_cast<int>(threadIdx.x) / 32; r < kRows; r += kTwo * kWarps) {
        QueryRow rows[kTwo];
#pragma unroll
        for (int i = 0; i < kTwo; ++i) rows[i].ask(call, first_row + r + i * kWarps);
#pragma unroll
        for (int i = 0; i < kTwo; ++i) rows[i].put(call, s, r + i * kWarps, chunks);
    }
}

__device__ void copy_tile(const AttendCall& call, uint4* to, int tile, int chunks) {
    const auto* from = reinterpret_cast<const uint4*>(call.cache);
    for (int i = static_cast<int>(threadIdx.x); i < kPositions * chunks; i += kThreads) {
        const int r = i / chunks, c = i % chunks;
        const bool present = tile * kPositions + r < call.n_positions;
        const long long at =
            present ? static_cast<long long>(tile * kPositions + r) * chunks + c : 0;
        copy_ahead(to + swizzled(r, c, chunks), from + at, present);
    }
    commit_copies();
}

// A warp's place: rows row … row + 15, half of the positions and of the values.
struct Place {
    int row, half, lane;
};

__device__ void make_scores(float (&scores)[4][4], const Shared& s, const uint4* cache,
                            const Place& at, int chunks) {
    const int position = at.half * 32 + at.lane % 8 + at.lane / 16 * 8;
    // Four steps' matrices are asked for before the first is multiplied.
    for (int first = 0; first < chunks / 2; first += 4) {
        unsigned a[4][4], b[4][2][4];
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            const int k = 2 * (first + i);
            load_matrices(a[i],
                          s.query + swizzled(at.row + at.lane % 16, k + at.lane / 16, chunks));
#pragma unroll
            for (int j = 0; j < 2; ++j) {
                load_matrices(b[i][j],
                              cache + swizzled(position + 16 * j, k + at.lane / 8 % 2, chunks));
            }
        }
#pragma unroll
        for (int i = 0; i < 4; ++i) {
#pragma unroll
            for (int j = 0; j < 2; ++j) {
                multiply_add(scores[2 * j], a[i], b[i][j][0], b[i][j][1]);
                multiply_add(scores[2 * j + 1], a[i], b[i][j][2], b[i][j][3]);
            }
        }
    }
}

// Of a lane's two rows, eight apart.
struct Softmax {
    float most[2] = {-INFINITY, -INFINITY};
    float total[2] = {0, 0};
    int last[2];  // position that the row may see
    float factor[2];
};

__device__ float quad_largest(float v) {
    v = fmaxf(v, __shfl_xor_sync(0xFFFFFFFFU, v, 1));
    return fmaxf(v, __shfl_xor_sync(0xFFFFFFFFU, v, 2));
}

// Scores to weights, in shared memory; what sums so far must be multiplied by.
__device__ void weigh(float (&scores)[4][4], Softmax& run, float (&keep)[2], const Shared& s,
                      const Place& at, int tile) {
    const int column = at.half * 32 + at.lane % 4 * 2;
#pragma unroll
    for (int i = 0; i < 2; ++i) {
        float largest = -INFINITY;
#pragma unroll
        for (int j = 0; j < 4; ++j) {
#pragma unroll
            for (int c = 0; c < 2; ++c) {
                float& score = scores[j][2 * i + c];
                const bool seen = tile * kPositions + column + 8 * j + c <= run.last[i];
                score = seen ? score * run.factor[i] : -INFINITY;
                largest = fmaxf(largest, score);
            }
        }
        largest = quad_largest(largest);
        if (at.lane % 4 == 0) s.most[at.half * kRows + at.row + at.lane / 4 + 8 * i] = largest;
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 2; ++i) {
        const int row = at.row + at.lane / 4 + 8 * i;
        const float most = fmaxf(run.most[i], fmaxf(s.most[row], s.most[kRows + row]));
        keep[i] = exp2f(run.most[i] - most);
        run.most[i] = most;
        run.total[i] *= keep[i];
#pragma unroll
        for (int j = 0; j < 4; ++j) {
            const float a = exp2f(scores[j][2 * i] - most), b = exp2f(scores[j][2 * i + 1] - most);
            run.total[i] += a + b;
            auto* chunk = reinterpret_cast<__half2*>(
                s.weights + swizzled(row, at.half * 4 + j, kPositions / 8));
            chunk[at.lane % 4] = __floats2half2_rn(a, b);
        }
    }
    __syncthreads();
}

__device__ void add_values(float (&sums)[kPairs][2][4], const float (&keep)[2], const Shared& s,
                           const uint4* cache, const Place& at, int chunks, int pairs) {
#pragma unroll
    for (int p = 0; p < kPairs; ++p) {
#pragma unroll
        for (int c = 0; c < 8; ++c) sums[p][c / 4][c % 4] *= keep[c % 4 / 2];
    }
#pragma unroll
    for (int k = 0; k < kPositions / 16; ++k) {
        unsigned a[4];
        load_matrices(
            a, s.weights + swizzled(at.row + at.lane % 16, 2 * k + at.lane / 16, kPositions / 8));
#pragma unroll
        for (int first = 0; first < kPairs; first += kTogether) {
            if (first >= pairs) continue;
            unsigned b[kTogether][4];
#pragma unroll
            for (int p = 0; p < kTogether; ++p) {  // what is none is the last one
                const int pair = at.half * pairs + min(first + p, pairs - 1);
                load_transposed(
                    b[p], cache + swizzled(16 * k + at.lane % 16, 2 * pair + at.lane / 16, chunks));
            }
#pragma unroll
            for (int p = 0; p < kTogether; ++p) {
                multiply_add(sums[first + p][0], a, b[p][0], b[p][1]);
                multiply_add(sums[first + p][1], a, b[p][2], b[p][3]);
            }
        }
    }
}

__device__ void write_sums(const AttendCall& call, const float (&sums)[kPairs][2][4], Softmax& run,
                           const Shared& s, const Place& at, int first_row, int pairs) {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
        float total = run.total[i];
        total += __shfl_xor_sync(0xFFFFFFFFU, total, 1);
        total += __shfl_xor_sync(0xFFFFFFFFU, total, 2);
        if (at.lane % 4 == 0) s.total[at.half * kRows + at.row + at.lane / 4 + 8 * i] = total;
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 2; ++i) {
        const int r = at.row + at.lane / 4 + 8 * i;
        const long long row = first_row + r;
        if (row >= call.rows) continue;
        const float share = 1.0F / (s.total[r] + s.total[kRows + r]);
#pragma unroll
        for (int p = 0; p < kPairs; ++p) {
            if (p >= pairs) continue;
#pragma unroll
            for (int c = 0; c < 2; ++c) {
                const int column = 16 * (at.half * pairs + p) + 8 * c + at.lane % 4 * 2;
                const float a = sums[p][c][2 * i] * share, b = sums[p][c][2 * i + 1] * share;
                *reinterpret_cast<__half2*>(call.halves + row * call.padded_rank + column) =
                    __floats2half2_rn(a, b);
                if (call.floats == nullptr) continue;
                float* to = call.floats + row * call.rank + column;
                if (column < call.rank) to[0] = a;
                if (column + 1 < call.rank) to[1] = b;
            }
        }
    }
}

__global__ void __launch_bounds__(kThreads, 1)
    attend_kernel(const __grid_constant__ AttendCall call) {
    extern __shared__ uint4 memory[];
    let_consumers_start();
    wait_for_producers();
    const int chunks = (call.padded_rank + call.padded_rot) / 8;
    const int pairs = call.padded_rank / 32;
    const Shared s = shared_at(memory, chunks);
    // The last rows see most: they begin first.
    const int first_row = (static_cast<int>(gridDim.x) - 1 - static_cast<int>(blockIdx.x)) * kRows;
    const int warp = static_cast<int>(threadIdx.x) / 32;
    const Place at = {warp % 4 * 16, warp / 4, static_cast<int>(threadIdx.x) % 32};
    const int last_row = min(first_row + kRows, call.rows) - 1;
    const int tiles = (call.first + last_row / call.heads) / kPositions + 1;
    copy_tile(call, s.cache, 0, chunks);
    load_queries(call, s, first_row, chunks);
    __syncthreads();
    Softmax run;
#pragma unroll
    for (int i = 0; i < 2; ++i) {
        const int r = at.row + at.lane / 4 + 8 * i;
        run.last[i] = call.first + (first_row + r) / call.heads;
        run.factor[i] = s.factor[r];
    }
    float sums[kPairs][2][4] = {};
    for (int tile = 0; tile < tiles; ++tile) {
        wait_for_copies<0>();
        __syncthreads();
        const uint4* const cache = s.cache + tile % 2 * kPositions * chunks;
        if (tile + 1 < tiles) {
            copy_tile(call, s.cache + (tile + 1) % 2 * kPositions * chunks, tile + 1, chunks);
        }
        float scores[4][4] = {}, keep[2];
        make_scores(scores, s, cache, at, chunks);
        weigh(scores, run, keep, s, at, tile);
        add_values(sums, keep, s, cache, at, chunks, pairs);
    }
    write_sums(call, sums, run, s, at, first_row, pairs);
}

Value value_of(Type type) {
    return type == Type::f32 ? Value::f32 : type == Type::f16 ? Value::f16 : Value::bf16;
}

}  // namespace

void write_rows(const MlaBatch::Args& args) {
    const MlaBatchShape& s = args.shape;
    const MlaDecode::Args& first = args.first;
    const RowsCall call = {first.kv,
                           first.kv_norm,
                           first.cos,
                           first.sin,
                           reinterpret_cast<unsigned char*>(first.cache),
                           value_of(s.cache),
                           first.eps,
                           static_cast<int>(s.kv_rank),
                           static_cast<int>(s.n_rot),
                           static_cast<int>(s.n_positions - s.n)};
    Size size;
    size.blocks = static_cast<int>(s.n);
    size.threads = 128;
    launch(rows_kernel, size, call);
}

HalfRows half_rows(const MlaBatch::Args& args, unsigned short* room) {
    const MlaBatchShape& s = args.shape;
    const auto rank = static_cast<int>(padded_to_depth(s.kv_rank));
    const auto rot = static_cast<int>(padded_to_depth(s.n_rot));
    const auto* cache = reinterpret_cast<const unsigned short*>(args.first.cache);
    const bool fits = s.cache == Type::f16 && rank == s.kv_rank && rot == s.n_rot &&
                      reinterpret_cast<std::uintptr_t>(cache) % 16 == 0;
    if (fits) return {cache, rank, rot};
    const CopyCall call = {reinterpret_cast<const unsigned char*>(args.first.cache),
                           value_of(s.cache),
                           static_cast<int>(s.kv_rank),
                           static_cast<int>(s.n_rot),
                           rank,
                           rot,
                           room};
    Size size;
    size.blocks = static_cast<int>(s.n_positions);
    size.threads = 128;
    launch(copy_kernel, size, call);
    return {room, rank, rot};
}

void attend_tiles(const MlaBatch::Args& args, const float* q, const float* latent,
                  const HalfRows& cache, unsigned short* sums, float* floats) {
    const MlaBatchShape& s = args.shape;
    constexpr float kLog2E = 1.4426950408889634F;
    const AttendCall call = {q,
                             latent,
                             args.first.cos,
                             args.first.sin,
                             cache.rows,
                             static_cast<int>(s.n * s.n_heads),
                             static_cast<int>(s.n_heads),
                             static_cast<int>(s.head_size()),
                             static_cast<int>(s.n_nope),
                             static_cast<int>(s.n_rot),
                             static_cast<int>(s.kv_rank),
                             cache.rank,
                             cache.rot,
                             static_cast<int>(s.n_positions - s.n),
                             static_cast<int>(s.n_positions),
                             args.first.scale * kLog2E,
                             sums,
                             floats};
    Size size;
    size.threads = kThreads;
    size.blocks = (call.rows + kRows - 1) / kRows;
    size.shared_bytes = shared_bytes((cache.rank + cache.rot) / 8);
    launch(attend_kernel, size, call);
}

}  // namespace steady::cuda
