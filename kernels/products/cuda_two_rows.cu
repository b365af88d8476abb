// As cuda_planes, but a warp takes two rows at once: what it reads of the vector serves both, and
// twice as much of the weights is on its way. Expected: four blocks of GLM-4.7-Flash and the output
// matrix, blocks in parts, decode between 4 % slower and 2 % faster; memory binds, not the vector's
// reads, and the first products of a block then fill 84 of 132 multiprocessors.
#include "kernels/layouts/planes.h"
#include "kernels/products/body_shapes.h"

namespace steady::cuda_two_rows {

static void run(const Products::Args& args, Range /*range*/) noexcept {
    cuda::run_products_shaped<cuda::Shaped<256, 2, 1, cuda::DotBytes>>(
        args, [](auto body, const cuda::Size& size, const cuda::ProductsCall& call) {
            cuda::launch_body<decltype(body)>(size, call);
        });
}

static const Variant<Products> variant{"cuda_two_rows",
                                       {.compute = 90,
                                        .granule = kWhole,
                                        .input = Input::q8,
                                        .layout = planes::kLayout,
                                        .pack_rows = planes::kRows,
                                        .packed_bytes = planes::packed_bytes,
                                        .pack = planes::pack,
                                        .run = run}};

}  // namespace steady::cuda_two_rows
