// Both kernels behind the router's product as Triton generated them from triton_experts.py, with
// the configurations that its autotuner chose: the choice with the hidden values of Q4_0 experts
// and of a shared one in Q5_K, and the outputs as GLM-4.7-Flash has them. They hand each other what
// the hand-written kernels do. Every other call falls back on the hand-written kernels of
// cuda_planes. Expected: hidden values slower, since the choice and the vector pass through shared
// memory at every reduction; outputs no slower.
#include "kernels/layouts/planes.h"
#include "kernels/moe_decode/triton_launch.h"

namespace steady::cuda_generated_triton {

static void run(const MoeDecode::Args& args, Range range) noexcept {
    cuda::run_triton_experts<cuda::kTritonAutotunerHidden, cuda::kTritonAutotunerDown>(args, range);
}

static bool supports(const MoeDecodeShape& shape) {
    return shape.n_experts <= cuda::kMostExperts && cuda::experts_align(shape);
}

static const Variant<MoeDecode> variant{"cuda_generated_triton",
                                        {.compute = 90,
                                         .supports = supports,
                                         .granule = kWhole,
                                         .input = Input::q8,
                                         .layout = planes::kLayout,
                                         .pack_rows = planes::kRows,
                                         .packed_bytes = planes::packed_bytes,
                                         .pack = planes::pack,
                                         .run = run}};

}  // namespace steady::cuda_generated_triton
