// As cuda_planes, but in blocks of 128 threads. Expected: four blocks of GLM-4.7-Flash and the
// output matrix, blocks in parts, decode 1 to 6 % slower: each block prepares the vector for
// itself, now twice as many with half the threads.
#include "kernels/layouts/planes.h"
#include "kernels/products/body_shapes.h"

namespace steady::cuda_threads_128 {

static void run(const Products::Args& args, Range /*range*/) noexcept {
    cuda::run_products_shaped<cuda::Shaped<128, 1, 1, cuda::DotBytes>>(
        args, [](auto body, const cuda::Size& size, const cuda::ProductsCall& call) {
            cuda::launch_body<decltype(body)>(size, call);
        });
}

static const Variant<Products> variant{"cuda_threads_128",
                                       {.compute = 90,
                                        .granule = kWhole,
                                        .input = Input::q8,
                                        .layout = planes::kLayout,
                                        .pack_rows = planes::kRows,
                                        .packed_bytes = planes::packed_bytes,
                                        .pack = planes::pack,
                                        .run = run}};

}  // namespace steady::cuda_threads_128
