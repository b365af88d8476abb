// Launches the kernels that Triton generated, where one takes the call; else the hand-written ones.
// For .cu files alone.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <iterator>

#include "kernels/generated/ptx.h"
#include "kernels/layouts/planes.h"
#include "kernels/products/cuda.h"
#include "kernels/products/triton_products.h"

namespace steady::cuda {

inline std::int64_t input_of(const Products::Args& args) {
    return args.norm != nullptr ? 2 : args.up != nullptr ? 3 : 1;
}

// A kernel takes whole groups of rows, and whole chunks of planes.
inline bool takes(const TritonProducts& kernel, const Products::Args& args) {
    if (kernel.input != input_of(args)) return false;
    if (kernel.residual != (args.residual != nullptr ? 2 : 1)) return false;
    for (const AnyMatrix& m : args.m) {
        if (!m.present()) break;
        if (m.type != kernel.type || m.cols != kernel.cols) return false;
        if (m.rows % kernel.rows != 0 || m.rows % planes::kRows != 0) return false;
    }
    return true;
}

inline void launch_triton(PtxKernel& loaded, const TritonProducts& kernel,
                          const Products::Args& args) {
    const void* w[Products::kMost] = {};
    float* y[Products::kMost] = {};
    int rows[Products::kMost] = {}, all = 0;
    for (std::size_t i = 0; i < args.m.size() && args.m[i].present(); ++i) {
        w[i] = args.m[i].w;
        y[i] = args.y[i];
        rows[i] = static_cast<int>(args.m[i].rows);
        all += rows[i];
    }
    const float *x = args.x, *other = args.norm != nullptr ? args.norm : args.up;
    const float* residual = args.residual;
    float eps = args.eps;
    void* scratch[kTritonScratch] = {};
    void* params[13 + kTritonScratch] = {&w[0],  &w[1],     &w[2],    &y[0],    &y[1],    &y[2], &x,
                                         &other, &residual, &rows[0], &rows[1], &rows[2], &eps};
    for (int i = 0; i < kTritonScratch; ++i) params[13 + i] = &scratch[i];
    Size size;
    size.blocks = all / kernel.rows;
    const int most = kernel.per_multiprocessor * multiprocessors();
    if (most > 0) size.blocks = std::min(size.blocks, most);
    size.threads = kernel.threads;
    size.shared_bytes = static_cast<std::size_t>(kernel.shared_bytes);
    launch_ptx(loaded, size, params);
}

inline std::int64_t rows_of(const Products::Args& args) {
    std::int64_t rows = 0;
    for (const AnyMatrix& m : args.m) rows += m.present() ? m.rows : 0;
    return rows;
}

// Of the kernels that take the call, the one that was tuned with the nearest number of rows. Loaded
// kernels are kept for each table of kernels.
template <const auto& kKernels>
void run_triton(const Products::Args& args) {
    static PtxKernel loaded[std::size(kKernels)] = {};
    const std::int64_t rows = rows_of(args);
    std::size_t best = std::size(kKernels);
    for (std::size_t i = 0; i < std::size(kKernels); ++i) {
        const auto distance = [&](std::size_t k) {
            return std::abs(kKernels[k].tuned_rows - rows);
        };
        if (!takes(kKernels[i], args)) continue;
        if (best == std::size(kKernels) || distance(i) < distance(best)) best = i;
    }
    if (best == std::size(kKernels)) return run_products(args, false);
    loaded[best].ptx = kKernels[best].ptx;
    loaded[best].name = "products";
    launch_triton(loaded[best], kKernels[best], args);
}

}  // namespace steady::cuda
