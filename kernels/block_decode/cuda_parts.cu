// As cuda_early; deep in a text the blocks that share the positions hand on their sums without a
// meeting, and the blocks of the values divide the latent's columns, not the rows. The meetings of
// clusters were half of the time between the query and the values. Expected: with 4,096 positions
// GLM-4.7-Flash decodes at 500 tok/s where 457 were, so that depth costs 8 to 14 %. A persistent
// launch runs the tiles of cuda_early instead.
#include "kernels/block_decode/cuda.h"
#include "kernels/layouts/planes.h"

namespace steady::cuda_parts {

static void run(const BlockDecode::Args& args, Range range) noexcept {
    cuda::run_phase(
        args, range.phase,
        {.tiles = true, .lean = true, .late = true, .split = true, .early = true, .parts = true});
}

static const Variant<BlockDecode> variant{"cuda_parts",
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

}  // namespace steady::cuda_parts
