// The joined products as in body.h, but with other shapes of work: how many rows a warp takes at
// once, how many warps share a row's columns, how many threads a block has; or with floats in place
// of bytes, and a scale for each product or for each block of weights. For .cu files alone, and for
// questions: the seeds' ways, held against the default's.
#pragma once

#include <algorithm>

#include "kernels/products/body.h"

namespace steady::cuda {

#ifdef __CUDACC__

// Products of bytes, four at a time, as the default has them.
struct DotBytes {
    static constexpr bool kFloats = false;
    template <class U>
    __device__ static float of(const U& unit, const Vector& x, int u, int /*units*/) {
        return unit.dot(x, u);
    }
};

// Value j of a unit before its scale, and the scale of one half of the unit.
__device__ inline float quant(const Unit<Form::q4_0>& unit, int j) {
    const unsigned byte = reinterpret_cast<const unsigned char*>(&unit.q)[j % 16];
    return static_cast<float>(static_cast<int>(j < 16 ? byte & 15U : byte >> 4) - 8);
}
__device__ inline float quant(const Unit<Form::q8_0>& unit, int j) {
    return static_cast<float>(reinterpret_cast<const signed char*>(unit.q)[j]);
}
__device__ inline float quant(const Unit<Form::q5_k>& unit, int j) {
    const unsigned byte = reinterpret_cast<const unsigned char*>(&unit.q)[j % 16];
    const unsigned bit = unit.upper >> (8 * (j % 4) + j / 4) & 1U;
    return static_cast<float>((j < 16 ? byte & 15U : byte >> 4) | bit << 4);
}
__device__ inline float quant(const Unit<Form::q6_k>& unit, int j) {
    const unsigned byte = reinterpret_cast<const unsigned char*>(&unit.q)[j % 16];
    const unsigned pairs =
        (j < 16 ? unit.upper.x : unit.upper.y) >> (8 * (j % 4) + 2 * (j % 16 / 4)) & 3U;
    return static_cast<float>(static_cast<int>((j < 16 ? byte & 15U : byte >> 4) | pairs << 4) -
                              32);
}
__device__ inline float scale_of(const Unit<Form::q4_0>& unit, int /*half*/) {
    return half_value(unit.d);
}
__device__ inline float scale_of(const Unit<Form::q8_0>& unit, int /*half*/) {
    return half_value(unit.d);
}
__device__ inline float scale_of(const Unit<Form::q5_k>& unit, int /*half*/) {
    return unit.scale();
}
__device__ inline float scale_of(const Unit<Form::q6_k>& unit, int half) {
    return half_value(unit.d) * static_cast<float>(static_cast<signed char>(
                                    half == 0 ? unit.both & 0xFF : unit.both >> 8));
}

// Products of floats. The scale is multiplied once for each half of a unit, or into each weight.
// The vector's fours lie so that neighbouring lanes read neighbouring ones: four i of unit u at
// i * units + u, behind the floats in order.
template <bool kHoisted>
struct DotFloats {
    static constexpr bool kFloats = true;
    template <class U>
    __device__ static float of(const U& unit, const Vector& x, int u, int units) {
        if constexpr (!U::kBytes) {
            return unit.dot(x, u);
        } else {
            const auto* fours = reinterpret_cast<const float4*>(x.low);
            float sum = 0, values = 0;
#pragma unroll
            for (int half = 0; half < 2; ++half) {
                float of_half = 0;
#pragma unroll
                for (int i = 4 * half; i < 4 * half + 4; ++i) {
                    const float4 v = fours[i * units + u];
                    if constexpr (kHoisted) {
                        of_half += quant(unit, 4 * i) * v.x + quant(unit, 4 * i + 1) * v.y +
                                   quant(unit, 4 * i + 2) * v.z + quant(unit, 4 * i + 3) * v.w;
                        values += v.x + v.y + v.z + v.w;
                    } else {
                        of_half += unit.value(4 * i) * v.x + unit.value(4 * i + 1) * v.y +
                                   unit.value(4 * i + 2) * v.z + unit.value(4 * i + 3) * v.w;
                    }
                }
                sum += kHoisted ? scale_of(unit, half) * of_half : of_half;
            }
            if constexpr (kHoisted && std::is_same_v<U, Unit<Form::q5_k>>) {
                sum -= unit.least() * values;
            }
            return sum;
        }
    }
};

// kRows: rows of a warp at once; kSplit: warps that share the columns of a row.
template <int kThreadsOfBlock, int kRowsAtOnce, int kWarpsOfRow, class Dots>
struct Shaped {
    static constexpr int kThreads = kThreadsOfBlock, kRows = kRowsAtOnce, kSplit = kWarpsOfRow;
    using Dot = Dots;
    static_assert(kRows == 1 || kSplit == 1);
};

// Threads of a multiprocessor that leave each thread registers for what it holds: of narrow rows
// two units, and two more on their way; of others five.
template <class Way>
constexpr int threads_at_once(bool narrow) {
    if (Way::kRows > 2) return 512;
    if (Way::kRows > 1 || Way::Dot::kFloats) return narrow ? 768 : 512;
    return narrow ? 1024 : 768;
}

template <class Way, int kUnits, int kOnly>
struct ShapedBody {
    using Call = ProductsCall;
    using Dot = typename Way::Dot;
    static constexpr int kThreads = Way::kThreads, kRows = Way::kRows, kSplit = Way::kSplit;
    static constexpr int kWarps = kThreads / 32, kGroups = kWarps / kSplit, kArrivals = 0;
    static constexpr int kBlocks = threads_at_once<Way>(kUnits <= 2) / kThreads;
    struct Kept {
        float sums[2][kWarps];
    };

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
            rows<decltype(unit)>(call, which, x, parts, kept, place);
        });
    }

    // Threads see each other's part after the next __syncthreads().
    __device__ static void swap_fours(const Vector& x, int n) {
        auto* fours = reinterpret_cast<float4*>(x.low);
        for (int i = static_cast<int>(threadIdx.x); i < n / 4; i += kThreads) {
            fours[i % 8 * (n / 32) + i / 8] = reinterpret_cast<const float4*>(x.f)[i];
        }
    }

    template <class U, int kN>
    __device__ static void load(U (&held)[kRows][kN], const Matrix& m, int row, int end, int first,
                                int units) {
#pragma unroll
        for (int r = 0; r < kRows; ++r) {
            if (row + r >= end) continue;
            const RowParts at = U::row(m, row + r);
#pragma unroll
            for (int i = 0; i < kN; ++i) {
                const int u = first + 32 * kSplit * i;
                if (u < units) held[r][i].load(at, u);
            }
        }
    }

    template <class U, int kN>
    __device__ static void add(float (&sum)[kRows], const U (&held)[kRows][kN], const Vector& x,
                               int first, int units) {
#pragma unroll
        for (int r = 0; r < kRows; ++r) {
            float part = 0;
#pragma unroll
            for (int i = 0; i < kN; ++i) {
                const int u = first + 32 * kSplit * i;
                if (u < units) part += Dot::of(held[r][i], x, u, units);
            }
            sum[r] += part;
        }
    }

    // Adds up the warps of a group, in each lane of the first one.
    __device__ static float over_group(float sum, int turn, Kept& kept) {
        const int warp = static_cast<int>(threadIdx.x) / 32, group = warp / kSplit;
        if (threadIdx.x % 32 == 0) kept.sums[turn][warp] = sum;
        asm volatile("bar.sync %0, %1;" ::"r"(1 + group), "r"(32 * kSplit) : "memory");
        float all = 0;
        for (int i = 0; i < kSplit; ++i) all += kept.sums[turn][group * kSplit + i];
        return all;
    }

    template <class U, class Place>
    __device__ static void rows(const Call& call, int which, const Vector& x, float* parts,
                                Kept& kept, const Place& place) {
        constexpr int kN = U::kBytes ? (kUnits + kSplit - 1) / kSplit : 8;
        constexpr bool kAhead = U::kBytes && kN <= 2;
        const Matrix& m = call.m[which];
        const int warp = static_cast<int>(threadIdx.x) / 32;
        const int own = warp % kSplit * 32 + static_cast<int>(threadIdx.x) % 32;
        const int units = U::units(m.cols);
        const int begin = (place.block() - call.first_block[which]) * call.rows_per_block;
        const int end = min(m.rows, begin + call.rows_per_block);
        int row = begin + warp / kSplit * kRows, first = own, turn = 0;
        U held[kRows][kN];
        load(held, m, row, end, first, units);
        const float4 weights = first_weights(call.source);
        place.wait();
        prepare(call.source, x, weights, parts);
        __syncthreads();
        if constexpr (Dot::kFloats && U::kBytes) {
            swap_fours(x, call.source.n);
            __syncthreads();
        }
        float sum[kRows] = {};
        while (row < end) {
            const bool last = first - own + 32 * kSplit * kN >= units;
            const int next_row = last ? row + kGroups * kRows : row;
            const int next_first = last ? own : first + 32 * kSplit * kN;
            if constexpr (kAhead) {
                U next[kRows][kN];
                load(next, m, next_row, end, next_first, units);
                add(sum, held, x, first, units);
#pragma unroll
                for (int r = 0; r < kRows; ++r) {
#pragma unroll
                    for (int i = 0; i < kN; ++i) held[r][i] = next[r][i];
                }
            } else {
                add(sum, held, x, first, units);
                load(held, m, next_row, end, next_first, units);
            }
            if (last) {
#pragma unroll
                for (int r = 0; r < kRows; ++r) {
                    const bool writes = own == 0 && row + r < end;
                    const float before =
                        call.residual != nullptr && writes ? __ldcg(call.residual + row + r) : 0.0F;
                    float all = warp_sum(sum[r]);
                    if constexpr (kSplit > 1) all = over_group(all, turn, kept);
                    if (writes) call.y[which][row + r] = before + all;
                    sum[r] = 0;
                }
                turn = 1 - turn;
            }
            row = next_row;
            first = next_first;
        }
    }
};

// Cuts into blocks as kernel.cu does, with as many threads on a multiprocessor, and gives the body
// that is made for the forms to `launch`.
template <class Way, class Launch>
void run_products_shaped(const Products::Args& args, Launch launch) {
    ProductsCall call = {};
    int rows = 0;
    bool bytes = false, same = true;
    for (std::size_t i = 0; i < args.m.size() && args.m[i].present(); ++i) {
        call.m[i] = device_matrix(args.m[i], false);
        call.y[i] = args.y[i];
        rows += call.m[i].rows;
        bytes = bytes || !reads_floats(call.m[i]);
        same = same && call.m[i].form == call.m[0].form;
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
                   bytes && !Way::Dot::kFloats};
    call.residual = args.residual;
    const bool narrow = cols <= 2048;
    // As many blocks as run at the same time, of narrow rows: one more would begin when others end.
    constexpr int kOfBlock = Way::kThreads / 32 / Way::kSplit * Way::kRows;
    const int most = kOfBlock * threads_at_once<Way>(true) / Way::kThreads * multiprocessors();
    call.rows_per_block = std::max(1, (rows + most - 1) / most) * kOfBlock;
    for (int i = 0; i < Products::kMost; ++i) {
        call.first_block[i + 1] =
            call.first_block[i] + (call.m[i].rows + call.rows_per_block - 1) / call.rows_per_block;
    }
    Size size;
    size.threads = Way::kThreads;
    size.blocks = call.first_block[Products::kMost];
    size.shared_bytes = kPartsBytes + vector_bytes(cols, call.source.bytes) +
                        (bytes && Way::Dot::kFloats ? vector_bytes(cols, false) : 0);
    if (same && call.m[0].form == Form::q4_0) {
        constexpr int kQ4 = only(Form::q4_0);
        return narrow ? launch(ShapedBody<Way, 2, kQ4>{}, size, call)
                      : launch(ShapedBody<Way, 5, kQ4>{}, size, call);
    }
    if (same && narrow && call.m[0].form == Form::q6_k) {
        return launch(ShapedBody<Way, 2, only(Form::q6_k)>{}, size, call);
    }
    narrow ? launch(ShapedBody<Way, 2, kAnyForm>{}, size, call)
           : launch(ShapedBody<Way, 5, kAnyForm>{}, size, call);
}

#endif

}  // namespace steady::cuda
