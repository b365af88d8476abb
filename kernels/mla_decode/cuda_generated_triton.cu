// The way over the cache as Triton generated it from triton_attention.py, with the configurations
// that its autotuner chose, at any depth: tiles of positions that all heads share, and the join of
// their sums with the heads' values. Queries and the new row come from the hand-written kernel of
// cuda_cluster for deep texts. A call with another cache, latent or type falls back on
// cuda_cluster. Expected: near it deep in a text; slower in the beginning, where cuda_cluster needs
// one launch and Triton, which has no clusters of blocks, three.
#include "kernels/layouts/planes.h"
#include "kernels/mla_decode/triton_launch.h"

namespace steady::cuda_generated_triton {

static void run(const MlaDecode::Args& args, Range /*range*/) noexcept {
    cuda::run_triton_attention<cuda::kTritonAutotunerTiles, cuda::kTritonAutotunerJoin>(args);
}

static bool supports(const MlaDecodeShape& shape) {
    return cuda::attention_fits(shape) && cuda::heads_align(shape);
}

static const Variant<MlaDecode> variant{"cuda_generated_triton",
                                        {.compute = 90,
                                         .supports = supports,
                                         .granule = kWhole,
                                         .input = Input::q8,
                                         .layout = planes::kLayout,
                                         .pack_rows = planes::kRows,
                                         .packed_bytes = planes::packed_bytes,
                                         .pack = planes::pack,
                                         .run = run}};

}  // namespace steady::cuda_generated_triton
