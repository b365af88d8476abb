// As cuda_planes, but an expert's weight meets what its rows give, not its hidden values on their
// way into shared memory. Expected: four blocks of GLM-4.7-Flash and the output matrix, blocks in
// parts, decode 0 to 2 % slower: a weight and a multiplication more for each unit of a lane.
#include "kernels/layouts/planes.h"
#include "kernels/moe_decode/cuda.h"

namespace steady::cuda_weights_behind {

static constexpr auto kWay = cuda::ExpertsWay::weights_behind;

static void run(const MoeDecode::Args& args, Range range) noexcept {
    cuda::run_moe_decode_way(args, range, kWay);
}

static bool supports(const MoeDecodeShape& shape) { return cuda::takes_way(shape, kWay); }

static const Variant<MoeDecode> variant{"cuda_weights_behind",
                                        {.compute = 90,
                                         .supports = supports,
                                         .granule = kWhole,
                                         .input = Input::q8,
                                         .layout = planes::kLayout,
                                         .pack_rows = planes::kRows,
                                         .packed_bytes = planes::packed_bytes,
                                         .pack = planes::pack,
                                         .run = run}};

}  // namespace steady::cuda_weights_behind
