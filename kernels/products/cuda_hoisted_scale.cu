// Weights in planes, but multiplied as floats with a vector of floats, and a block's scale once for
// sixteen or thirty-two products. Expected: four blocks of GLM-4.7-Flash and the output matrix,
// blocks in parts, decode 3 to 20 % slower than by cuda_planes: each value is converted, and the
// vector's floats are four times the bytes.
#include "kernels/layouts/planes.h"
#include "kernels/products/body_shapes.h"

namespace steady::cuda_hoisted_scale {

static void run(const Products::Args& args, Range /*range*/) noexcept {
    cuda::run_products_shaped<cuda::Shaped<256, 1, 1, cuda::DotFloats<true>>>(
        args, [](auto body, const cuda::Size& size, const cuda::ProductsCall& call) {
            cuda::launch_body<decltype(body)>(size, call);
        });
}

static const Variant<Products> variant{"cuda_hoisted_scale",
                                       {.compute = 90,
                                        .granule = kWhole,
                                        .input = Input::f32,
                                        .layout = planes::kLayout,
                                        .pack_rows = planes::kRows,
                                        .packed_bytes = planes::packed_bytes,
                                        .pack = planes::pack,
                                        .run = run}};

}  // namespace steady::cuda_hoisted_scale
