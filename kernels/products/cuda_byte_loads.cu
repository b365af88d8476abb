// As cuda_planes, but quants are loaded a byte at a time: sixteen loads where one is. Expected:
// four blocks of GLM-4.7-Flash and the output matrix, blocks in parts, decode 35 to 65 % slower;
// the load units then have more to do than memory.
#include "kernels/layouts/planes.h"
#include "kernels/products/body_ways.h"

namespace steady::cuda_byte_loads {

static void run(const Products::Args& args, Range /*range*/) noexcept {
    cuda::run_products_by<cuda::ReadBy<unsigned char>, cuda::SumByShuffles>(
        args, [](auto body, const cuda::Size& size, const cuda::ProductsCall& call) {
            cuda::launch_body<decltype(body)>(size, call);
        });
}

static const Variant<Products> variant{"cuda_byte_loads",
                                       {.compute = 90,
                                        .granule = kWhole,
                                        .input = Input::q8,
                                        .layout = planes::kLayout,
                                        .pack_rows = planes::kRows,
                                        .packed_bytes = planes::packed_bytes,
                                        .pack = planes::pack,
                                        .run = run}};

}  // namespace steady::cuda_byte_loads
