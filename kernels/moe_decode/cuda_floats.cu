// All matrices as floats, and nothing rounded: what other GPU variants are looked at beside.
#include "kernels/layouts/planes.h"
#include "kernels/moe_decode/cuda.h"

namespace steady::cuda_floats {

static void run(const MoeDecode::Args& args, Range range) noexcept {
    cuda::run_moe_decode(args, range, true);
}

static bool supports(const MoeDecodeShape& shape) { return shape.n_experts <= cuda::kMostExperts; }

static const Variant<MoeDecode> variant{"cuda_floats",
                                        {.compute = 80,
                                         .supports = supports,
                                         .granule = kWhole,
                                         .layout = planes::kFloatLayout,
                                         .packed_bytes = planes::float_bytes,
                                         .pack = planes::pack_floats,
                                         .run = run}};

}  // namespace steady::cuda_floats
