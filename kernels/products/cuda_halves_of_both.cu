// Q5_K and Q6_K as half floats, made once and kept, multiplied as floats; what is not of these two
// types as cuda_planes has it. Expected: four blocks of GLM-4.7-Flash and the output matrix, blocks
// in parts, decode 15 to 25 % slower than by cuda_planes_of_both, where products and moe_decode
// both read halves: 0.41 GB more of some 0.7.
#include "kernels/products/body_of_both.h"

namespace steady::cuda_halves_of_both {

static void run(const Products::Args& args, Range /*range*/) noexcept {
    cuda::run_products_of_both<cuda::Copy::halves>(
        args, [](auto body, const cuda::Size& size, const cuda::ProductsCall& call) {
            cuda::launch_body<decltype(body)>(size, call);
        });
}

static const Variant<Products> variant{"cuda_halves_of_both",
                                       {.compute = 90,
                                        .supports = cuda::takes_both,
                                        .granule = kWhole,
                                        .input = Input::q8,
                                        .layout = planes::kBothLayout,
                                        .pack_rows = planes::kRows,
                                        .packed_bytes = planes::packed_bytes_of_both,
                                        .pack = planes::pack_both,
                                        .run = run}};

}  // namespace steady::cuda_halves_of_both
