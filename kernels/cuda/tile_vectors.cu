// A batch's vectors to halves, normed or gated on the way: a block takes a row, or eight short
// ones.
#include "kernels/cuda/tiles.h"

namespace steady::cuda {
namespace {

struct VectorsCall {
    Source source;
    long long step, other_step;
    Vectors to;
    int padded, rows;
    bool by_warp;  // short rows: eight to a block
    bool aligned;  // all rows begin at multiples of 16 bytes
};

__device__ float block_largest(float v, float* parts) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    v = warp_largest(v);
    if (lane == 0) parts[threadIdx.x / 32] = v;
    __syncthreads();
    return warp_largest(lane < static_cast<int>(blockDim.x) / 32 ? parts[lane] : 0.0F);
}

// Values 4i … 4i + 3 of a row of n; zeros behind them.
__device__ float4 four_at(const float* row, int i, int n, bool aligned) {
    float4 v;
    if (aligned) {  // without a branch around the load, several are under way at once
        v = __ldcg(reinterpret_cast<const float4*>(row) + min(i, n / 4 - 1));
    } else {
        const auto at = [&](int j) { return __ldcg(row + min(4 * i + j, n - 1)); };
        v = {at(0), at(1), at(2), at(3)};
    }
    return {4 * i < n ? v.x : 0, 4 * i + 1 < n ? v.y : 0, 4 * i + 2 < n ? v.z : 0,
            4 * i + 3 < n ? v.w : 0};
}

// A row's threads: a warp, of which eight make a block, or a whole block.
struct RowThreads {
    int begin, threads;
    bool warp;

    __device__ float sum(float v, float* parts) const {
        return warp ? warp_sum(v) : block_sum(v, parts);
    }
    __device__ float largest(float v, float* parts) const {
        return warp ? warp_largest(v) : block_largest(v, parts);
    }
};

// The row's values, but for the norm's factor: the first of them stay in registers.
struct RowValues {
    static constexpr int kHeld = 4;
    const VectorsCall& call;
    const float* x;
    const float* other;
    float4 held[kHeld];

    template <bool kAligned>
    __device__ float4 make(int i, float& squares) const {
        const int n = call.source.n;
        const float4 v = four_at(x, i, n, kAligned);
        squares += v.x * v.x + v.y * v.y + v.z * v.z + v.w * v.w;
        if (call.source.make == Make::plain) return v;
        const float4 o = four_at(other, i, n, kAligned);
        if (call.source.make == Make::normed) return {v.x * o.x, v.y * o.y, v.z * o.z, v.w * o.w};
        return {gated(v.x, o.x), gated(v.y, o.y), gated(v.z, o.z), gated(v.w, o.w)};
    }
    __device__ float4 make(int i, float& squares) const {
        return call.aligned ? make<true>(i, squares) : make<false>(i, squares);
    }
    __device__ void hold(const RowThreads& t, float& squares) {
        if (call.aligned) {
#pragma unroll
            for (int h = 0; h < kHeld; ++h) held[h] = make<true>(t.begin + h * t.threads, squares);
        } else {
#pragma unroll
            for (int h = 0; h < kHeld; ++h) held[h] = make<false>(t.begin + h * t.threads, squares);
        }
    }
    // use(i, four values) for each of this thread's; squares of those that are not held.
    template <class Use>
    __device__ void each(const RowThreads& t, int fours, float& squares, Use use) const {
#pragma unroll
        for (int h = 0; h < kHeld; ++h) {
            const int i = t.begin + h * t.threads;
            if (i < fours) use(i, held[h]);
        }
        for (int i = t.begin + kHeld * t.threads; i < fours; i += t.threads) {
            use(i, make(i, squares));
        }
    }
};

__device__ uint2 as_halves(float4 v, float inverse) {
    const __half2 a = __floats2half2_rn(v.x * inverse, v.y * inverse);
    const __half2 b = __floats2half2_rn(v.z * inverse, v.w * inverse);
    return {*reinterpret_cast<const unsigned*>(&a), *reinterpret_cast<const unsigned*>(&b)};
}

__global__ void __launch_bounds__(256) vectors_kernel(const __grid_constant__ VectorsCall call) {
    __shared__ float parts[2][32];
    let_consumers_start();
    wait_for_producers();
    const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
    const RowThreads t = call.by_warp ? RowThreads{lane, 32, true}
                                      : RowThreads{static_cast<int>(threadIdx.x), 256, false};
    const long long row = call.by_warp ? 8LL * blockIdx.x + warp : blockIdx.x;
    if (row >= call.rows) return;
    const int n = call.source.n, fours = call.padded / 4;
    const bool normed = call.source.make == Make::normed;
    RowValues values = {call,
                        call.source.x + row * call.step,
                        normed ? call.source.other : call.source.other + row * call.other_step,
                        {}};
    float squares = 0, largest = 0, unused = 0;
    values.hold(t, squares);
    values.each(t, fours, squares, [&](int, float4 v) {
        largest =
            fmaxf(fmaxf(largest, fmaxf(fabsf(v.x), fabsf(v.y))), fmaxf(fabsf(v.z), fabsf(v.w)));
    });
    float factor = 1;
    if (normed) {
        factor = rsqrtf(t.sum(squares, parts[0]) / static_cast<float>(n) + call.source.eps);
    }
    const float scale = scale_for(t.largest(largest, parts[1]) * factor);
    if (t.begin == 0) call.to.scale[row] = scale;
    auto* halves = reinterpret_cast<uint2*>(call.to.halves + row * call.padded);
    values.each(t, fours, unused, [&](int i, float4 v) {
        v = {v.x * factor, v.y * factor, v.z * factor, v.w * factor};
        halves[i] = as_halves(v, 1.0F / scale);
        if (call.to.floats == nullptr) return;
        const float all[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
        for (int j = 0; j < 4; ++j) {
            if (4 * i + j < n) call.to.floats[row * n + 4 * i + j] = all[j];
        }
    });
}

}  // namespace

void make_vectors(const VectorsFrom& from, const Vectors& to) {
    const Source& source = from.source;
    const auto aligned = [&](const float* p, std::int64_t step) {
        return source.n % 4 == 0 && step % 4 == 0 && reinterpret_cast<std::uintptr_t>(p) % 16 == 0;
    };
    const bool by_warp = source.n <= 512;
    const bool normed = source.make == Make::normed;
    const VectorsCall call = {
        source,
        from.step,
        from.other_step,
        to,
        static_cast<int>(padded_to_depth(source.n)),
        static_cast<int>(from.rows),
        by_warp,
        aligned(source.x, from.step) && aligned(source.other, normed ? 0 : from.other_step)};
    Size size;
    size.blocks = static_cast<int>(by_warp ? (from.rows + 7) / 8 : from.rows);
    size.threads = 256;
    launch(vectors_kernel, size, call);
}

}  // namespace steady::cuda
