// The joined products as in body.h, but with one thing otherwise: how wide a lane's loads of quants
// are, or how a warp's lanes add up their sums. For .cu files alone, and for questions: the plain
// ways of the seeds, held against the default's.
#pragma once

#include <algorithm>

#include "kernels/products/body.h"

namespace steady::cuda {

constexpr int kWaysThreads = 256;

#ifdef __CUDACC__

// Sixteen bytes of quants by loads of T. The caches keep their lines, since the next load of the
// same lane wants them; volatile, so that the compiler makes no wider loads of them.
template <class T>
struct ReadBy;

template <>
struct ReadBy<unsigned short> {
    __device__ static unsigned one(const unsigned short* p) {
        unsigned short v;
        asm volatile("ld.global.nc.u16 %0, [%1];" : "=h"(v) : "l"(p));
        return v;
    }
    __device__ static unsigned word(const unsigned* from) {
        const auto* p = reinterpret_cast<const unsigned short*>(from);
        return one(p) | one(p + 1) << 16;
    }
    __device__ static uint4 wide(const uint4* from) {
        const auto* p = reinterpret_cast<const unsigned*>(from);
        return {word(p), word(p + 1), word(p + 2), word(p + 3)};
    }
    template <class V>
    __device__ static V narrow(const V* p) {
        return __ldg(p);
    }
};

template <>
struct ReadBy<unsigned char> {
    __device__ static unsigned one(const unsigned char* p) {
        unsigned v;
        asm volatile("ld.global.nc.u8 %0, [%1];" : "=r"(v) : "l"(p));
        return v;
    }
    __device__ static unsigned word(const unsigned* from) {
        const auto* p = reinterpret_cast<const unsigned char*>(from);
        return one(p) | one(p + 1) << 8 | one(p + 2) << 16 | one(p + 3) << 24;
    }
    __device__ static uint4 wide(const uint4* from) {
        const auto* p = reinterpret_cast<const unsigned*>(from);
        return {word(p), word(p + 1), word(p + 2), word(p + 3)};
    }
    template <class V>
    __device__ static V narrow(const V* p) {
        return __ldg(p);
    }
};

// A unit that is read in this way; floats have one way only.
template <class U, class Read, bool kQuants = U::kBytes>
struct ReadUnit : U {
    __device__ void load(const RowParts& row, int u) { U::template load<Read>(row, u); }
};
template <class U, class Read>
struct ReadUnit<U, Read, false> : U {};

// The sum over a warp's lanes, in lane 0: by shuffles, or by one lane from shared memory.
struct SumByShuffles {
    __device__ static float of(float v, float* /*room*/) { return warp_sum(v); }
};
struct SumInShared {
    __device__ static float of(float v, float* room) {
        const int lane = static_cast<int>(threadIdx.x) % 32;
        float* own = room + (threadIdx.x - lane);
        __syncwarp();
        own[lane] = v;
        __syncwarp();
        float sum = 0;
        if (lane == 0) {
            for (int i = 0; i < 32; ++i) sum += own[i];
        }
        return sum;
    }
};

// As ProductsBody with a row of a warp at a time.
template <class Read, class Sum, int kUnits, int kOnly>
struct WaysBody {
    using Call = ProductsCall;
    struct Kept {
        float sums[kWaysThreads];
    };
    static constexpr int kThreads = kWaysThreads, kBlocks = kUnits <= 2 ? 4 : 3, kArrivals = 0;

    template <class Place>
    __device__ __forceinline__ static void run(const Call& call, Kept& kept, uint4* memory,
                                               const Place& place) {
        place.let_consumers_start();
        auto* parts = reinterpret_cast<float*>(memory);
        const Vector x =
            vector_at(reinterpret_cast<unsigned char*>(memory) + kPartsBytes, call.source.n);
        const int block = place.block();
        const int which = block >= call.first_block[2] ? 2 : block >= call.first_block[1] ? 1 : 0;
        with_form_of<kOnly>(call.m[which].form, [&](auto unit) {
            rows<ReadUnit<decltype(unit), Read>>(call, which, x, parts, kept.sums, place);
        });
    }

    template <class U, class Place>
    __device__ static void rows(const Call& call, int which, const Vector& x, float* parts,
                                float* room, const Place& place) {
        constexpr int kN = kHeld<U, kUnits>;
        constexpr bool kAhead = U::kBytes && kUnits <= 2;
        const Matrix& m = call.m[which];
        const int lane = static_cast<int>(threadIdx.x) % 32;
        const int units = U::units(m.cols);
        const int begin = (place.block() - call.first_block[which]) * call.rows_per_block;
        const int end = min(m.rows, begin + call.rows_per_block);
        int row = begin + static_cast<int>(threadIdx.x) / 32, first = lane;
        U held[kN];
        RowParts at = U::row(m, min(row, m.rows - 1));
        if (row < end) load_part(held, at, first, units);
        const float4 weights = first_weights(call.source);
        place.wait();
        prepare(call.source, x, weights, parts);
        __syncthreads();
        float sum = 0;
        while (row < end) {
            const bool last = first - lane + 32 * kN >= units;
            const int next_row = last ? row + kWaysThreads / 32 : row;
            const int next_first = last ? lane : first + 32 * kN;
            const bool more = next_row < end;
            if (last && more) at = U::row(m, next_row);
            if constexpr (kAhead) {
                U next[kN];
                if (more) load_part(next, at, next_first, units);
                sum += dot_part(held, x, first, units);
#pragma unroll
                for (int i = 0; i < kN; ++i) held[i] = next[i];
            } else {
                sum += dot_part(held, x, first, units);
                if (more) load_part(held, at, next_first, units);
            }
            if (last) {
                const float before =
                    call.residual != nullptr && lane == 0 ? __ldcg(call.residual + row) : 0.0F;
                sum = Sum::of(sum, room);
                if (lane == 0) call.y[which][row] = before + sum;
                sum = 0;
            }
            row = next_row;
            first = next_first;
        }
    }
};

// Cuts into blocks as kernel.cu does, and gives the body that is made for the forms to `launch`.
template <class Read, class Sum, class Launch>
void run_products_by(const Products::Args& args, Launch launch) {
    ProductsCall call = {};
    int rows = 0;
    bool bytes = false;
    for (std::size_t i = 0; i < args.m.size() && args.m[i].present(); ++i) {
        call.m[i] = device_matrix(args.m[i], false);
        call.y[i] = args.y[i];
        rows += call.m[i].rows;
        bytes = bytes || !reads_floats(call.m[i]);
    }
    const int cols = static_cast<int>(args.shape.cols);
    const bool normed = args.norm != nullptr, is_gated = args.up != nullptr;
    call.source = {args.x,
                   normed ? args.norm : args.up,
                   args.eps,
                   cols,
                   normed     ? Make::normed
                   : is_gated ? Make::gated
                              : Make::plain,
                   bytes};
    call.residual = args.residual;
    constexpr int kWarps = kWaysThreads / 32;
    const int most = kWarps * 4 * multiprocessors();
    call.rows_per_block = std::max(1, (rows + most - 1) / most) * kWarps;
    for (int i = 0; i < Products::kMost; ++i) {
        call.first_block[i + 1] =
            call.first_block[i] + (call.m[i].rows + call.rows_per_block - 1) / call.rows_per_block;
    }
    Size size;
    size.threads = kWaysThreads;
    size.blocks = call.first_block[Products::kMost];
    size.shared_bytes = kPartsBytes + vector_bytes(cols, bytes);
    const bool narrow = cols <= 2048;
    bool same = true;
    for (std::size_t i = 1; i < args.m.size() && args.m[i].present(); ++i) {
        same = same && call.m[i].form == call.m[0].form;
    }
    if (same && call.m[0].form == Form::q4_0) {
        constexpr int kQ4 = only(Form::q4_0);
        return narrow ? launch(WaysBody<Read, Sum, 2, kQ4>{}, size, call)
                      : launch(WaysBody<Read, Sum, 5, kQ4>{}, size, call);
    }
    if (same && narrow && call.m[0].form == Form::q6_k) {
        return launch(WaysBody<Read, Sum, 2, only(Form::q6_k)>{}, size, call);
    }
    narrow ? launch(WaysBody<Read, Sum, 2, kAnyForm>{}, size, call)
           : launch(WaysBody<Read, Sum, 5, kAnyForm>{}, size, call);
}

#endif

}  // namespace steady::cuda
