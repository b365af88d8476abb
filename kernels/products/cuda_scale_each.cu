// As cuda_hoisted_scale, but each weight is multiplied by its scale before it meets the vector.
// Expected: four blocks of GLM-4.7-Flash and the output matrix, blocks in parts, decode 2 to 12 %
// slower: one more multiplication in five or six instructions for each weight.
#include "kernels/layouts/planes.h"
#include "kernels/products/body_shapes.h"

namespace steady::cuda_scale_each {

static void run(const Products::Args& args, Range /*range*/) noexcept {
    cuda::run_products_shaped<cuda::Shaped<256, 1, 1, cuda::DotFloats<false>>>(
        args, [](auto body, const cuda::Size& size, const cuda::ProductsCall& call) {
            cuda::launch_body<decltype(body)>(size, call);
        });
}

static const Variant<Products> variant{"cuda_scale_each",
                                       {.compute = 90,
                                        .granule = kWhole,
                                        .input = Input::f32,
                                        .layout = planes::kLayout,
                                        .pack_rows = planes::kRows,
                                        .packed_bytes = planes::packed_bytes,
                                        .pack = planes::pack,
                                        .run = run}};

}  // namespace steady::cuda_scale_each
