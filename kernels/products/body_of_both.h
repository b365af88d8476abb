// The joined products over weights that are stored twice: Q5_K and Q6_K are read in planes or as
// half floats, all others as cuda_planes reads them. For .cu files alone, and for a question.
#pragma once

#include "kernels/cuda/units_of_both.h"
#include "kernels/products/body_shapes.h"
#include "kernels/products/cuda.h"

namespace steady::cuda {

inline bool takes_both(const ProductsShape& shape) { return planes::has_planes(shape.type); }

#ifdef __CUDACC__

// A warp takes a row, in blocks of 256 threads. The matrices of a call share their type if any of
// them is stored twice, as in the models.
template <Copy kCopy, class Launch>
void run_products_of_both(const Products::Args& args, Launch launch) {
    if (!planes::has_halves(args.m[0].type)) return run_products(args, false);
    ProductsCall call = {};
    int rows = 0;
    for (std::size_t i = 0; i < args.m.size() && args.m[i].present(); ++i) {
        if (args.m[i].type != args.m[0].type) return note_failure(cudaErrorNotSupported);
        call.m[i] = device_matrix(args.m[i], false);
        call.m[i].form = form_of_both(args.m[i].type, kCopy);
        call.y[i] = args.y[i];
        rows += call.m[i].rows;
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
                   kCopy == Copy::planes};
    call.residual = args.residual;
    Size size;
    size.threads = 256;
    const int most = 8 * 4 * multiprocessors();
    call.rows_per_block = std::max(1, (rows + most - 1) / most) * 8;
    for (int i = 0; i < Products::kMost; ++i) {
        call.first_block[i + 1] =
            call.first_block[i] + (call.m[i].rows + call.rows_per_block - 1) / call.rows_per_block;
    }
    size.blocks = call.first_block[Products::kMost];
    size.shared_bytes = kPartsBytes + vector_bytes(cols, call.source.bytes);
    using Way = Shaped<256, 1, 1, DotBytes>;
    args.m[0].type == Type::q6_k
        ? launch(ShapedBody<Way, 2, only(form_of_both(Type::q6_k, kCopy))>{}, size, call)
        : launch(ShapedBody<Way, 2, only(form_of_both(Type::q5_k, kCopy))>{}, size, call);
}

#endif

}  // namespace steady::cuda
