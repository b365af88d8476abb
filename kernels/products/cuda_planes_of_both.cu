// As cuda_planes, over weights whose Q5_K and Q6_K also lie as half floats: the other side of
// cuda_halves_of_both, with the same weights in memory. Expected: as fast as cuda_planes within 0.5
// %.
#include "kernels/products/body_of_both.h"

namespace steady::cuda_planes_of_both {

static void run(const Products::Args& args, Range /*range*/) noexcept {
    cuda::run_products_of_both<cuda::Copy::planes>(
        args, [](auto body, const cuda::Size& size, const cuda::ProductsCall& call) {
            cuda::launch_body<decltype(body)>(size, call);
        });
}

static const Variant<Products> variant{"cuda_planes_of_both",
                                       {.compute = 90,
                                        .supports = cuda::takes_both,
                                        .granule = kWhole,
                                        .input = Input::q8,
                                        .layout = planes::kBothLayout,
                                        .pack_rows = planes::kRows,
                                        .packed_bytes = planes::packed_bytes_of_both,
                                        .pack = planes::pack_both,
                                        .run = run}};

}  // namespace steady::cuda_planes_of_both
