// A batch's vectors to halves, normed or gated on the way: a block takes a row.
#include "kernels/cuda/tiles.h"

namespace steady::cuda {
namespace {

struct VectorsCall {
    Source source;
    long long step, other_step;
    Vectors to;
    int padded;
};

__device__ float block_largest(float v, float* parts) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    v = warp_largest(v);
    if (lane == 0) parts[threadIdx.x / 32] = v;
    __syncthreads();
    return warp_largest(lane < static_cast<int>(blockDim.x) / 32 ? parts[lane] : 0.0F);
}

// Value i of the row, but for the norm's factor.
__device__ float value_at(const VectorsCall& call, long long row, int i) {
    const float x = __ldcg(call.source.x + row * call.step + i);
    if (call.source.make == Make::normed) return x * __ldg(call.source.other + i);
    if (call.source.make == Make::plain) return x;
    return gated(x, __ldcg(call.source.other + row * call.other_step + i));
}

__global__ void vectors_kernel(const __grid_constant__ VectorsCall call) {
    __shared__ float parts[2][32];
    let_consumers_start();
    wait_for_producers();
    const long long row = blockIdx.x;
    const int n = call.source.n, threads = static_cast<int>(blockDim.x);
    const int begin = static_cast<int>(threadIdx.x);
    float squares = 0, largest = 0;
    for (int i = begin; i < n; i += threads) {
        if (call.source.make == Make::normed) {
            const float x = __ldcg(call.source.x + row * call.step + i);
            squares += x * x;
        }
        largest = fmaxf(largest, fabsf(value_at(call, row, i)));
    }
    float factor = 1;
    if (call.source.make == Make::normed) {
        factor = rsqrtf(block_sum(squares, parts[0]) / static_cast<float>(n) + call.source.eps);
    }
    const float scale = scale_for(block_largest(largest, parts[1]) * factor);
    if (begin == 0) call.to.scale[row] = scale;
    auto* halves = reinterpret_cast<__half*>(call.to.halves) + row * call.padded;
    for (int i = begin; i < call.padded; i += threads) {
        const float v = i < n ? value_at(call, row, i) * factor : 0.0F;
        halves[i] = __float2half_rn(v / scale);
        if (i < n && call.to.floats != nullptr) call.to.floats[row * n + i] = v;
    }
}

}  // namespace

void make_vectors(const VectorsFrom& from, const Vectors& to) {
    const VectorsCall call = {from.source, from.step, from.other_step, to,
                              static_cast<int>(padded_to_depth(from.source.n))};
    Size size;
    size.blocks = static_cast<int>(from.rows);
    size.threads = from.source.n <= 256 ? 64 : 256;
    launch(vectors_kernel, size, call);
}

}  // namespace steady::cuda
