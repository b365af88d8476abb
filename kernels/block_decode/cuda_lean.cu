// As cuda_tiles, so that more of a block's work overlaps: attention in 80 registers a thread, for
// which all its clusters find room before its vector is there (at 128 the last ones started 4 µs
// late); the weights behind attention asked for only when it has its own vector, which they
// delayed; the two products that end a half of the block by sixteen warps of a block, not eight.
// Expected: a twelfth of a token's time.
#include "kernels/block_decode/cuda.h"
#include "kernels/layouts/planes.h"

namespace steady::cuda_lean {

static void run(const BlockDecode::Args& args, Range range) noexcept {
    cuda::run_phase(args, range.phase, {.tiles = true, .lean = true, .late = true, .split = true});
}

static const Variant<BlockDecode> variant{"cuda_lean",
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

}  // namespace steady::cuda_lean
