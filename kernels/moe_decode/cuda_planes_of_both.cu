// As cuda_planes, over weights whose Q5_K and Q6_K also lie as half floats: the other side of
// cuda_halves_of_both, with the same weights in memory. Expected: as fast as cuda_planes within 0.5
// %.
#include "kernels/moe_decode/body_of_both.h"

namespace steady::cuda_planes_of_both {

static void run(const MoeDecode::Args& args, Range range) noexcept {
    // Makes hidden_kernel<> and down_kernel<> for the two forms.
    range.phase == 0 ? cuda::run_moe_decode(args, range, false)
                     : cuda::experts::run_moe_of_both<cuda::Copy::planes>(args, range);
}

static const Variant<MoeDecode> variant{"cuda_planes_of_both",
                                        {.compute = 90,
                                         .supports = cuda::experts::experts_have_both,
                                         .granule = kWhole,
                                         .input = Input::q8,
                                         .layout = planes::kBothLayout,
                                         .pack_rows = planes::kRows,
                                         .packed_bytes = planes::packed_bytes_of_both,
                                         .pack = planes::pack_both,
                                         .run = run}};

}  // namespace steady::cuda_planes_of_both
