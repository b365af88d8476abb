// As cuda_planes, but a kernel of one block chooses the experts, and the others read the choice.
// Expected: four blocks of GLM-4.7-Flash and the output matrix, blocks in parts, decode up to 2.5 %
// slower: a kernel more in each of three blocks, for some hundred comparisons.
#include "kernels/layouts/planes.h"
#include "kernels/moe_decode/cuda.h"

namespace steady::cuda_choice_apart {

static constexpr auto kWay = cuda::ExpertsWay::choice_apart;

static void run(const MoeDecode::Args& args, Range range) noexcept {
    cuda::run_moe_decode_way(args, range, kWay);
}

static bool supports(const MoeDecodeShape& shape) { return cuda::takes_way(shape, kWay); }

static const Variant<MoeDecode> variant{"cuda_choice_apart",
                                        {.compute = 90,
                                         .supports = supports,
                                         .granule = kWhole,
                                         .input = Input::q8,
                                         .layout = planes::kLayout,
                                         .pack_rows = planes::kRows,
                                         .packed_bytes = planes::packed_bytes,
                                         .pack = planes::pack,
                                         .run = run}};

}  // namespace steady::cuda_choice_apart
