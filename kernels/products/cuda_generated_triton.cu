// Kernels that Triton generated from triton_products.py, with the configurations that its autotuner
// chose: for Q4_0 of 2048, 5120 and 10240 columns as GLM-4.7-Flash and DeepSeek-V2-Lite have them,
// and for output matrices in Q6_K. Each prepares its vector itself, as the hand-written ones do,
// and reads the same planes. Every other call falls back on the hand-written kernels of
// cuda_planes. Expected: within a tenth of them on the output matrix, slower where a product takes
// a few microseconds.
#include "kernels/layouts/planes.h"
#include "kernels/products/triton_launch.h"

namespace steady::cuda_generated_triton {

static void run(const Products::Args& args, Range /*range*/) noexcept {
    cuda::run_triton<cuda::kTritonAutotuner>(args);
}

static const Variant<Products> variant{"cuda_generated_triton",
                                       {.compute = 90,
                                        .granule = kWhole,
                                        .input = Input::q8,
                                        .layout = planes::kLayout,
                                        .pack_rows = planes::kRows,
                                        .packed_bytes = planes::packed_bytes,
                                        .pack = planes::pack,
                                        .run = run}};

}  // namespace steady::cuda_generated_triton
