// As cuda_generated_triton, with the configurations that successive halving chose over launches
// that follow each other in a recorded graph and overlap, as in a model. Expected: faster there
// than the autotuner's choice, which was timed alone.
#include "kernels/layouts/planes.h"
#include "kernels/mla_decode/triton_launch.h"

namespace steady::cuda_generated_triton_chained {

static void run(const MlaDecode::Args& args, Range /*range*/) noexcept {
    cuda::run_triton_attention<cuda::kTritonChainedTiles, cuda::kTritonChainedJoin>(args);
}

static bool supports(const MlaDecodeShape& shape) {
    return cuda::attention_fits(shape) && cuda::heads_align(shape);
}

static const Variant<MlaDecode> variant{"cuda_generated_triton_chained",
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
