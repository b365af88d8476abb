// The embedding's rows: threads take a token's values one after the other. For .cu files alone.
#pragma once

#include "kernels/cuda/rows.h"

namespace steady::cuda {

struct TokenRowCall {
    Matrix table;
    const int* token;
    float* y;
};

#ifdef __CUDACC__

struct TokenRowBody {
    using Call = TokenRowCall;
    struct Kept {};
    static constexpr int kThreads = 256, kBlocks = 1, kArrivals = 0;

    template <class Place>
    __device__ __forceinline__ static void run(const Call& call, Kept& /*kept*/, uint4* /*memory*/,
                                               const Place& place) {
        place.let_consumers_start();
        place.wait();
        const Matrix& table = call.table;
        const int step = (table.cols + 255) / 256 * 256;  // a token's threads
        const int t = place.block() / (step / 256);
        const int row =
            min(max(*reinterpret_cast<const volatile int*>(call.token + t), 0), table.rows - 1);
        const int begin = place.block() * 256 + static_cast<int>(threadIdx.x) - t * step;
        float* y = call.y + static_cast<long long>(t) * table.cols;
        if (reads_floats(table)) {
            const float* from =
                reinterpret_cast<const float*>(table.w) + static_cast<long long>(row) * table.cols;
            for (int i = begin; i < table.cols; i += step) y[i] = __ldg(from + i);
            return;
        }
        with_form(table.form, [&](auto unit) {
            using U = decltype(unit);
            if constexpr (U::kBytes) {
                const RowParts at = U::row(table, row);
                for (int i = begin; i < table.cols; i += step) {
                    unit.load(at, i / 32);
                    y[i] = unit.value(i % 32);
                }
            }
        });
    }
};

#endif

}  // namespace steady::cuda
