// As cuda_planes, but a warp takes four rows at once. Expected: four blocks of GLM-4.7-Flash and
// the output matrix, blocks in parts, decode 2 to 12 % slower than with two rows: half as many
// warps share a multiprocessor, and the first products of a block fill 42 of 132.
#include "kernels/layouts/planes.h"
#include "kernels/products/body_shapes.h"

namespace steady::cuda_four_rows {

static void run(const Products::Args& args, Range /*range*/) noexcept {
    cuda::run_products_shaped<cuda::Shaped<256, 4, 1, cuda::DotBytes>>(
        args, [](auto body, const cuda::Size& size, const cuda::ProductsCall& call) {
            cuda::launch_body<decltype(body)>(size, call);
        });
}

static const Variant<Products> variant{"cuda_four_rows",
                                       {.compute = 90,
                                        .granule = kWhole,
                                        .input = Input::q8,
                                        .layout = planes::kLayout,
                                        .pack_rows = planes::kRows,
                                        .packed_bytes = planes::packed_bytes,
                                        .pack = planes::pack,
                                        .run = run}};

}  // namespace steady::cuda_four_rows
