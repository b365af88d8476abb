// A block in five kernels. Expected: each is a matter of latencies, and their sum falls by half: a
// vector arrives ready to multiply, weights are on their way before it, the router is no phase of
// its own, and attention meets twice where it met four times.
#include "kernels/block_decode/cuda.h"
#include "kernels/layouts/planes.h"

namespace steady::cuda_handed {

static void run(const BlockDecode::Args& args, Range range) noexcept {
    cuda::run_phase(args, range.phase, {});
}

static const Variant<BlockDecode> variant{"cuda_handed",
                                          {.compute = 90,
                                           .supports = cuda::handed_fits,
                                           .granule = kWhole,
                                           .input = Input::q8,
                                           .layout = planes::kLayout,
                                           .pack_rows = planes::kRows,
                                           .packed_bytes = planes::packed_bytes,
                                           .pack = planes::pack,
                                           .run = run}};

}  // namespace steady::cuda_handed
