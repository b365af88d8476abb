// All matrices as floats, and nothing rounded; a block takes a head alone. What other GPU variants
// are looked at beside.
#include "kernels/layouts/planes.h"
#include "kernels/mla_decode/cuda.h"

namespace steady::cuda_floats {

static void run(const MlaDecode::Args& args, Range /*range*/) noexcept {
    cuda::run_mla_decode(args, true, 1);
}

static bool supports(const MlaDecodeShape& shape) { return cuda::attention_fits(shape); }

static const Variant<MlaDecode> variant{"cuda_floats",
                                        {.compute = 80,
                                         .supports = supports,
                                         .granule = kWhole,
                                         .layout = planes::kFloatLayout,

                                         .packed_bytes = planes::float_bytes,
                                         .pack = planes::pack_floats,
                                         .run = run}};

}  // namespace steady::cuda_floats
