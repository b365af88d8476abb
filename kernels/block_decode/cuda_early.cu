// As cuda_lean; the kernel of the experts' outputs asks for their rows when they are chosen, not
// when the hidden values are there: memory is half idle while those are made. Expected: two of a
// block's 36 µs.
#include "kernels/block_decode/cuda.h"
#include "kernels/layouts/planes.h"

namespace steady::cuda_early {

static void run(const BlockDecode::Args& args, Range range) noexcept {
    cuda::run_phase(args, range.phase,
                    {.tiles = true, .lean = true, .late = true, .split = true, .early = true});
}

static const Variant<BlockDecode> variant{"cuda_early",
                                          {.compute = 90,
                                           .persistent = true,
                                           .supports = cuda::handed_fits,
                                           .granule = kWhole,
                                           .input = Input::q8,
                                           .layout = planes::kLayout,
                                           .pack_rows = planes::kRows,
                                           .packed_bytes = planes::packed_bytes,
                                           .pack = planes::pack,
                                           .run = run}};

}  // namespace steady::cuda_early
