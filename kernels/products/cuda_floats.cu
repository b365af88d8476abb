// Weights as floats, whatever they were: seven times the bytes of Q4_0, and nothing rounded. What
// the other GPU variants are looked at beside; it takes every shape.
#include "kernels/layouts/planes.h"
#include "kernels/products/cuda.h"

namespace steady::cuda_floats {

static void run(const Products::Args& args, Range /*range*/) noexcept {
    cuda::run_products(args, true);
}

static const Variant<Products> variant{"cuda_floats",
                                       {.compute = 80,
                                        .granule = kWhole,
                                        .layout = planes::kFloatLayout,
                                        .packed_bytes = planes::float_bytes,
                                        .pack = planes::pack_floats,
                                        .run = run}};

}  // namespace steady::cuda_floats
