// Enqueues the joined products: which rows a block takes, and the body made for their types.
#include <algorithm>

#include "kernels/products/body.h"
#include "kernels/products/cuda.h"

namespace steady::cuda {

void run_products(const Products::Args& args, bool as_floats) {
    ProductsCall call = {};
    int rows = 0, n = 0;
    for (std::size_t i = 0; i < args.m.size() && args.m[i].present(); ++i) {
        call.m[i] = device_matrix(args.m[i], as_floats);
        call.y[i] = args.y[i];
        rows += call.m[i].rows;
        ++n;
    }
    const bool normed = args.norm != nullptr, is_gated = args.up != nullptr;
    bool bytes = false;
    for (int i = 0; i < n; ++i) bytes = bytes || !reads_floats(call.m[i]);
    const int cols = static_cast<int>(args.shape.cols);
    call.source = {args.x,
                   normed ? args.norm : args.up,
                   args.eps,
                   cols,
                   normed     ? Make::normed
                   : is_gated ? Make::gated
                              : Make::plain,
                   bytes};
    call.residual = args.residual;
    Size size;
    size.threads = rows <= 512 && !recording_tasks() ? 128 : 256;
    const int warps = size.threads / 32;
    const int most = recording_tasks() ? task_blocks() : 4 * multiprocessors();
    call.rows_per_block = std::max(1, (rows + warps * most - 1) / (warps * most)) * warps;
    for (int i = 0; i < Products::kMost; ++i) {
        const int own =
            i < n ? (call.m[i].rows + call.rows_per_block - 1) / call.rows_per_block : 0;
        call.first_block[i + 1] = call.first_block[i] + own;
    }
    size.blocks = call.first_block[Products::kMost];
    size.shared_bytes = kPartsBytes + vector_bytes(cols, bytes);
    const bool narrow = cols <= 2048;
    bool same = true;
    for (int i = 1; i < n; ++i) same = same && call.m[i].form == call.m[0].form;
    const Form form = call.m[0].form;
    if (same && form == Form::q4_0) {
        return narrow ? launch_body<ProductsBody<2, only(Form::q4_0)>>(size, call)
                      : launch_body<ProductsBody<5, only(Form::q4_0)>>(size, call);
    }
    if (same && narrow && form == Form::q6_k) {
        if (recording_tasks()) {
            return launch_body<ProductsBody<2, only(Form::q6_k), 4>>(size, call);
        }
        return launch_body<ProductsBody<2, only(Form::q6_k)>>(size, call);
    }
    if (same && narrow && form == Form::floats) {
        return launch_body<ProductsBody<2, only(Form::floats)>>(size, call);
    }
    narrow ? launch_body<ProductsBody<2, kAnyForm>>(size, call)
           : launch_body<ProductsBody<5, kAnyForm>>(size, call);
}

}  // namespace steady::cuda
