// As cuda_planes, but the sum of weights is divided by with the GPU's estimate of its reciprocal.
// Expected: four blocks of GLM-4.7-Flash and the output matrix, blocks in parts, decode between
// 0.3 % slower and 0.3 % faster: an exact division is some tens of cycles of each block's 20,000.
#include "kernels/layouts/planes.h"
#include "kernels/moe_decode/cuda.h"

namespace steady::cuda_reciprocal {

static constexpr auto kWay = cuda::ExpertsWay::reciprocal;

static void run(const MoeDecode::Args& args, Range range) noexcept {
    cuda::run_moe_decode_way(args, range, kWay);
}

static bool supports(const MoeDecodeShape& shape) { return cuda::takes_way(shape, kWay); }

static const Variant<MoeDecode> variant{"cuda_reciprocal",
                                        {.compute = 90,
                                         .supports = supports,
                                         .granule = kWhole,
                                         .input = Input::q8,
                                         .layout = planes::kLayout,
                                         .pack_rows = planes::kRows,
                                         .packed_bytes = planes::packed_bytes,
                                         .pack = planes::pack,
                                         .run = run}};

}  // namespace steady::cuda_reciprocal
