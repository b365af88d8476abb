// As cuda_planes, but in blocks of 512 threads. Expected: four blocks of GLM-4.7-Flash and the
// output matrix, blocks in parts, decode between 3 % slower and 2 % faster: the vector is prepared
// sooner, and the first products of a block fill 84 of 132 multiprocessors.
#include "kernels/layouts/planes.h"
#include "kernels/products/body_shapes.h"

namespace steady::cuda_threads_512 {

static void run(const Products::Args& args, Range /*range*/) noexcept {
    cuda::run_products_shaped<cuda::Shaped<512, 1, 1, cuda::DotBytes>>(
        args, [](auto body, const cuda::Size& size, const cuda::ProductsCall& call) {
            cuda::launch_body<decltype(body)>(size, call);
        });
}

static const Variant<Products> variant{"cuda_threads_512",
                                       {.compute = 80,
                                        .granule = kWhole,
                                        .input = Input::q8,
                                        .layout = planes::kLayout,
                                        .pack_rows = planes::kRows,
                                        .packed_bytes = planes::packed_bytes,
                                        .pack = planes::pack,
                                        .run = run}};

}  // namespace steady::cuda_threads_512
