// As cuda_planes, but the products with gate and with up are a launch each, the second of which
// gates. Expected: four blocks of GLM-4.7-Flash and the output matrix, blocks in parts, decode 1 to
// 5 % slower: a kernel more in each of three blocks, and experts are chosen twice.
#include "kernels/layouts/planes.h"
#include "kernels/moe_decode/cuda.h"

namespace steady::cuda_gate_then_up {

static constexpr auto kWay = cuda::ExpertsWay::gate_then_up;

static void run(const MoeDecode::Args& args, Range range) noexcept {
    cuda::run_moe_decode_way(args, range, kWay);
}

static bool supports(const MoeDecodeShape& shape) { return cuda::takes_way(shape, kWay); }

static const Variant<MoeDecode> variant{"cuda_gate_then_up",
                                        {.compute = 90,
                                         .supports = supports,
                                         .granule = kWhole,
                                         .input = Input::q8,
                                         .layout = planes::kLayout,
                                         .pack_rows = planes::kRows,
                                         .packed_bytes = planes::packed_bytes,
                                         .pack = planes::pack,
                                         .run = run}};

}  // namespace steady::cuda_gate_then_up
