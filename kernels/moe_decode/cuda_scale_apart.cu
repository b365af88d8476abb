// As cuda_planes, but an expert's weight is divided by the sum of weights and then multiplied by
// the experts' scale. Expected: four blocks of GLM-4.7-Flash and the output matrix, blocks in
// parts, decode between 0.3 % slower and 0.3 % faster: one division of each of four threads either
// way.
#include "kernels/layouts/planes.h"
#include "kernels/moe_decode/cuda.h"

namespace steady::cuda_scale_apart {

static constexpr auto kWay = cuda::ExpertsWay::scale_apart;

static void run(const MoeDecode::Args& args, Range range) noexcept {
    cuda::run_moe_decode_way(args, range, kWay);
}

static bool supports(const MoeDecodeShape& shape) { return cuda::takes_way(shape, kWay); }

static const Variant<MoeDecode> variant{"cuda_scale_apart",
                                        {.compute = 90,
                                         .supports = supports,
                                         .granule = kWhole,
                                         .input = Input::q8,
                                         .layout = planes::kLayout,
                                         .pack_rows = planes::kRows,
                                         .packed_bytes = planes::packed_bytes,
                                         .pack = planes::pack,
                                         .run = run}};

}  // namespace steady::cuda_scale_apart
