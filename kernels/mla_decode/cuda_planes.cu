// Matrices in planes and vectors in bytes; a block takes a head alone, which any GPU can. Expected:
// slow, since a head's matrices then pass through one multiprocessor.
#include "kernels/layouts/planes.h"
#include "kernels/mla_decode/cuda.h"

namespace steady::cuda_planes {

static void run(const MlaDecode::Args& args, Range /*range*/) noexcept {
    cuda::run_mla_decode(args, false, 1);
}

static bool supports(const MlaDecodeShape& shape) {
    return cuda::attention_fits(shape) && cuda::heads_align(shape);
}

static const Variant<MlaDecode> variant{"cuda_planes",
                                        {.compute = 80,
                                         .supports = supports,
                                         .granule = kWhole,
                                         .input = Input::q8,
                                         .layout = planes::kLayout,
                                         .pack_rows = planes::kRows,
                                         .packed_bytes = planes::packed_bytes,
                                         .pack = planes::pack,
                                         .run = run}};

}  // namespace steady::cuda_planes
