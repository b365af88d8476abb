// Weights in planes, read 16 bytes a lane, and multiplied as bytes four at a time (dp4a) with a
// vector that each block rounds to bytes for itself. Expected: near the read limit on large
// matrices; on those of a few megabytes the wait for the kernel before is the larger part.
#include "kernels/layouts/planes.h"
#include "kernels/products/cuda.h"

namespace steady::cuda_planes {

static void run(const Products::Args& args, Range /*range*/) noexcept {
    cuda::run_products(args, false);
}

static const Variant<Products> variant{"cuda_planes",
                                       {.compute = 80,
                                        .persistent = true,
                                        .granule = kWhole,
                                        .input = Input::q8,
                                        .layout = planes::kLayout,
                                        .pack_rows = planes::kRows,
                                        .packed_bytes = planes::packed_bytes,
                                        .pack = planes::pack,
                                        .run = run}};

}  // namespace steady::cuda_planes
