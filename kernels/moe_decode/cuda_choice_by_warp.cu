// As cuda_planes, but in each block a warp looks for the best expert, then for the next one, by
// shuffles. Expected: four blocks of GLM-4.7-Flash and the output matrix, blocks in parts, decode
// between 1 % slower and 1 % faster: four rounds of ten shuffles against 64 comparisons of each of
// 64 threads.
#include "kernels/layouts/planes.h"
#include "kernels/moe_decode/cuda.h"

namespace steady::cuda_choice_by_warp {

static constexpr auto kWay = cuda::ExpertsWay::choice_by_warp;

static void run(const MoeDecode::Args& args, Range range) noexcept {
    cuda::run_moe_decode_way(args, range, kWay);
}

static bool supports(const MoeDecodeShape& shape) { return cuda::takes_way(shape, kWay); }

static const Variant<MoeDecode> variant{"cuda_choice_by_warp",
                                        {.compute = 90,
                                         .supports = supports,
                                         .granule = kWhole,
                                         .input = Input::q8,
                                         .layout = planes::kLayout,
                                         .pack_rows = planes::kRows,
                                         .packed_bytes = planes::packed_bytes,
                                         .pack = planes::pack,
                                         .run = run}};

}  // namespace steady::cuda_choice_by_warp
