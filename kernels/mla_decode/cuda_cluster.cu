// As cuda_planes with eight blocks to a head, which hand each other results through shared memory.
// Expected: eight times the multiprocessors at work for a meeting of blocks that costs less than a
// launch. Deep in a text heads share tiles of the cache instead (kernel_deep.cu).
#include "kernels/layouts/planes.h"
#include "kernels/mla_decode/cuda.h"

namespace steady::cuda_cluster {

static void run(const MlaDecode::Args& args, Range /*range*/) noexcept {
    const bool deep = args.shape.n_positions > cuda::kDeepFrom && cuda::deep_fits(args);
    deep ? cuda::run_deep(args, 8) : cuda::run_mla_decode(args, false, 8);
}

static bool supports(const MlaDecodeShape& shape) {
    return cuda::attention_fits(shape) && cuda::heads_align(shape);
}

static const Variant<MlaDecode> variant{"cuda_cluster",
                                        {.compute = 90,
                                         .supports = supports,
                                         .granule = kWhole,
                                         .input = Input::q8,
                                         .layout = planes::kLayout,
                                         .pack_rows = planes::kRows,
                                         .packed_bytes = planes::packed_bytes,
                                         .pack = planes::pack,
                                         .run = run}};

}  // namespace steady::cuda_cluster
