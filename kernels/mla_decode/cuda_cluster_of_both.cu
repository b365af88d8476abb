// As cuda_cluster, in the layout where Q5_K and Q6_K are stored twice; attention has matrices of
// other types alone.
#include "kernels/layouts/planes_and_halves.h"
#include "kernels/mla_decode/cuda.h"

namespace steady::cuda_cluster_of_both {

static void run(const MlaDecode::Args& args, Range /*range*/) noexcept {
    const bool deep = args.shape.n_positions > cuda::kDeepFrom && cuda::deep_fits(args);
    deep ? cuda::run_deep(args, 8) : cuda::run_mla_decode(args, false, 8);
}

static bool supports(const MlaDecodeShape& shape) {
    return cuda::attention_fits(shape) && cuda::heads_align(shape) &&
           !planes::has_halves(shape.type);
}

static const Variant<MlaDecode> variant{"cuda_cluster_of_both",
                                        {.compute = 90,
                                         .supports = supports,
                                         .granule = kWhole,
                                         .input = Input::q8,
                                         .layout = planes::kBothLayout,
                                         .pack_rows = planes::kRows,
                                         .packed_bytes = planes::packed_bytes_of_both,
                                         .pack = planes::pack_both,
                                         .run = run}};

}  // namespace steady::cuda_cluster_of_both
