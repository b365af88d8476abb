// Enqueues the joined experts: the router's product, and the two kernels of body.h behind it.
#include "kernels/moe_decode/body.h"
#include "kernels/moe_decode/cuda.h"
#include "kernels/products/cuda.h"

namespace steady::cuda {

using namespace experts;

static void run_router(const MoeDecode::Args& args, bool as_floats) {
    Products::Args router = {};
    router.shape = {args.router.type, args.router.rows, args.router.cols, 1, 2};
    router.m[0] = args.router;
    router.y[0] = args.logits;
    router.x = args.x;
    router.norm = args.norm;
    router.eps = args.eps;
    run_products(router, as_floats);
}

static void run_hidden(const MoeDecode::Args& args, bool as_floats) {
    Size size;
    const HiddenCall call = hidden_call(args, as_floats, size);
    is_known(call) ? launch(hidden_kernel<only(Form::q4_0), only(Form::q5_k)>, size, call)
                   : launch(hidden_kernel<kAnyForm, kAnyForm>, size, call);
}

static void run_down(const MoeDecode::Args& args, bool as_floats) {
    Size size;
    const DownCall call = down_call(args, as_floats, size);
    is_known(call) ? launch(down_kernel<only(Form::q4_0), only(Form::q6_k)>, size, call)
                   : launch(down_kernel<kAnyForm, kAnyForm>, size, call);
}

void run_moe_decode(const MoeDecode::Args& args, Range range, bool as_floats) {
    if (range.phase == 0) return run_router(args, as_floats);
    range.phase == 1 ? run_hidden(args, as_floats) : run_down(args, as_floats);
}

}  // namespace steady::cuda
