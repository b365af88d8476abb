// As cuda_generated_triton, with the configurations that successive halving chose over launches
// that follow each other in a recorded graph and overlap, as in a model. Expected: faster there
// than the autotuner's choice, which was timed alone.
#include "kernels/layouts/planes.h"
#include "kernels/moe_decode/triton_launch.h"

namespace steady::cuda_generated_triton_chained {

static void run(const MoeDecode::Args& args, Range range) noexcept {
    cuda::run_triton_experts<cuda::kTritonChainedHidden, cuda::kTritonChainedDown>(args, range);
}

static bool supports(const MoeDecodeShape& shape) {
    return shape.n_experts <= cuda::kMostExperts && cuda::experts_align(shape);
}

static const Variant<MoeDecode> variant{"cuda_generated_triton_chained",
                                        {.compute = 90,
                                         .supports = supports,
                                         .granule = kWhole,
                                         .input = Input::q8,
                                         .layout = planes::kLayout,
                                         .pack_rows = planes::kRows,
                                         .packed_bytes = planes::packed_bytes,
                                         .pack = planes::pack,
                                         .run = run}};

}  // namespace steady::cuda_generated_triton_chained
