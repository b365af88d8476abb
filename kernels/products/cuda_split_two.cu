// As cuda_planes, but two warps of a block share the columns of a row, and add up through shared
// memory. Expected: four blocks of GLM-4.7-Flash and the output matrix, blocks in parts, decode
// between 3 % slower and 2 % faster: the first products gain warps, the output matrix meets twice
// as often.
#include "kernels/layouts/planes.h"
#include "kernels/products/body_shapes.h"

namespace steady::cuda_split_two {

static void run(const Products::Args& args, Range /*range*/) noexcept {
    cuda::run_products_shaped<cuda::Shaped<256, 1, 2, cuda::DotBytes>>(
        args, [](auto body, const cuda::Size& size, const cuda::ProductsCall& call) {
            cuda::launch_body<decltype(body)>(size, call);
        });
}

static const Variant<Products> variant{"cuda_split_two",
                                       {.compute = 90,
                                        .granule = kWhole,
                                        .input = Input::q8,
                                        .layout = planes::kLayout,
                                        .pack_rows = planes::kRows,
                                        .packed_bytes = planes::packed_bytes,
                                        .pack = planes::pack,
                                        .run = run}};

}  // namespace steady::cuda_split_two
