// As cuda_planes, but the shared expert has launches of its own, one for its hidden values and one
// for its outputs. Expected: four blocks of GLM-4.7-Flash and the output matrix, blocks in parts,
// decode 2 to 7 % slower: two kernels more in each of three blocks.
#include "kernels/layouts/planes.h"
#include "kernels/moe_decode/cuda.h"

namespace steady::cuda_shared_apart {

static constexpr auto kWay = cuda::ExpertsWay::shared_apart;

static void run(const MoeDecode::Args& args, Range range) noexcept {
    cuda::run_moe_decode_way(args, range, kWay);
}

static bool supports(const MoeDecodeShape& shape) { return cuda::takes_way(shape, kWay); }

static const Variant<MoeDecode> variant{"cuda_shared_apart",
                                        {.compute = 90,
                                         .supports = supports,
                                         .granule = kWhole,
                                         .input = Input::q8,
                                         .layout = planes::kLayout,
                                         .pack_rows = planes::kRows,
                                         .packed_bytes = planes::packed_bytes,
                                         .pack = planes::pack,
                                         .run = run}};

}  // namespace steady::cuda_shared_apart
