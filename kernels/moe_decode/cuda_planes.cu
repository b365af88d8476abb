// Matrices in planes and vectors in bytes; the hidden values leave the first kernel as bytes.
// Expected: three kernels where ops apart are eight, and the experts' product near the read limit.
#include "kernels/layouts/planes.h"
#include "kernels/moe_decode/cuda.h"

namespace steady::cuda_planes {

static void run(const MoeDecode::Args& args, Range range) noexcept {
    cuda::run_moe_decode(args, range, false);
}

static bool supports(const MoeDecodeShape& shape) {
    return shape.n_experts <= cuda::kMostExperts && cuda::experts_align(shape);
}

static const Variant<MoeDecode> variant{"cuda_planes",
                                        {.compute = 80,
                                         .supports = supports,
                                         .granule = kWhole,
                                         .input = Input::q8,
                                         .layout = planes::kLayout,
                                         .pack_rows = planes::kRows,
                                         .packed_bytes = planes::packed_bytes,
                                         .pack = planes::pack,
                                         .run = run}};

}  // namespace steady::cuda_planes
