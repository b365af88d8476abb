// As cuda_planes, but each chosen expert has launches of its own, one for its hidden values and one
// for its outputs, and so has the shared one: ten kernels where two are. Expected: four blocks of
// GLM-4.7-Flash and the output matrix, blocks in parts, decode 10 to 25 % slower; a kernel costs
// two to four microseconds, and one expert's rows do not fill the GPU.
#include "kernels/layouts/planes.h"
#include "kernels/moe_decode/cuda.h"

namespace steady::cuda_per_expert {

static constexpr auto kWay = cuda::ExpertsWay::per_expert;

static void run(const MoeDecode::Args& args, Range range) noexcept {
    cuda::run_moe_decode_way(args, range, kWay);
}

static bool supports(const MoeDecodeShape& shape) { return cuda::takes_way(shape, kWay); }

static const Variant<MoeDecode> variant{"cuda_per_expert",
                                        {.compute = 90,
                                         .supports = supports,
                                         .granule = kWhole,
                                         .input = Input::q8,
                                         .layout = planes::kLayout,
                                         .pack_rows = planes::kRows,
                                         .packed_bytes = planes::packed_bytes,
                                         .pack = planes::pack,
                                         .run = run}};

}  // namespace steady::cuda_per_expert
