// As cuda_planes, but both products are written, and a kernel of its own gates them. Expected: four
// blocks of GLM-4.7-Flash and the output matrix, blocks in parts, decode 1 to 3 % slower: a small
// kernel more in each of three blocks.
#include "kernels/layouts/planes.h"
#include "kernels/moe_decode/cuda.h"

namespace steady::cuda_swiglu_apart {

static constexpr auto kWay = cuda::ExpertsWay::swiglu_apart;

static void run(const MoeDecode::Args& args, Range range) noexcept {
    cuda::run_moe_decode_way(args, range, kWay);
}

static bool supports(const MoeDecodeShape& shape) { return cuda::takes_way(shape, kWay); }

static const Variant<MoeDecode> variant{"cuda_swiglu_apart",
                                        {.compute = 90,
                                         .supports = supports,
                                         .granule = kWhole,
                                         .input = Input::q8,
                                         .layout = planes::kLayout,
                                         .pack_rows = planes::kRows,
                                         .packed_bytes = planes::packed_bytes,
                                         .pack = planes::pack,
                                         .run = run}};

}  // namespace steady::cuda_swiglu_apart
