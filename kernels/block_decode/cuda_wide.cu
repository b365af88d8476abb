// As cuda_parts; from 6,336 positions on, where its blocks need a second tile of 48, a block takes
// 64 positions at once, in the same memory, so that 8,448 positions are one tile of each. With
// more, a block has a multiprocessor for itself, and asks for the next tile's rows before it writes
// its sums. Expected: GLM-4.7-Flash decodes at 495 to 510 tok/s with 8,192 positions where 452
// were, so that depth costs 9 to 12 %, and at 415 to 440 with 16,384 where 376 were; with 4,096 and
// fewer as cuda_parts. A persistent launch runs the tiles of cuda_early instead.
#include "kernels/block_decode/cuda.h"
#include "kernels/layouts/planes.h"

namespace steady::cuda_wide {

static void run(const BlockDecode::Args& args, Range range) noexcept {
    cuda::run_phase(args, range.phase,
                    {.tiles = true,
                     .lean = true,
                     .late = true,
                     .split = true,
                     .early = true,
                     .parts = true,
                     .wide = true});
}

static const Variant<BlockDecode> variant{"cuda_wide",
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

}  // namespace steady::cuda_wide
