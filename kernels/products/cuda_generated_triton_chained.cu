// As cuda_generated_triton, with the configurations that successive halving chose over launches
// that follow each other in a recorded graph and overlap, as in a model. Expected: faster there
// than the autotuner's choice, which was timed alone.
#include "kernels/layouts/planes.h"
#include "kernels/products/triton_launch.h"

namespace steady::cuda_generated_triton_chained {

static void run(const Products::Args& args, Range /*range*/) noexcept {
    cuda::run_triton<cuda::kTritonChained>(args);
}

static const Variant<Products> variant{"cuda_generated_triton_chained",
                                       {.compute = 90,
                                        .granule = kWhole,
                                        .input = Input::q8,
                                        .layout = planes::kLayout,
                                        .pack_rows = planes::kRows,
                                        .packed_bytes = planes::packed_bytes,
                                        .pack = planes::pack,
                                        .run = run}};

}  // namespace steady::cuda_generated_triton_chained
