// Q5_K and Q6_K as half floats, made once and kept, multiplied as floats; what is not of these two
// types as cuda_planes has it. Expected: four blocks of GLM-4.7-Flash and the output matrix, blocks
// in parts, decode 15 to 25 % slower than by cuda_planes_of_both, where products and moe_decode
// both read halves: 0.41 GB more of some 0.7.
#include "kernels/moe_decode/body_of_both.h"

namespace steady::cuda_halves_of_both {

static void run(const MoeDecode::Args& args, Range range) noexcept {
    // Makes hidden_kernel<> and down_kernel<> for the two forms.
    range.phase == 0 ? cuda::run_moe_decode(args, range, false)
                     : cuda::experts::run_moe_of_both<cuda::Copy::halves>(args, range);
}

static const Variant<MoeDecode> variant{"cuda_halves_of_both",
                                        {.compute = 90,
                                         .supports = cuda::experts::experts_have_both,
                                         .granule = kWhole,
                                         .input = Input::q8,
                                         .layout = planes::kBothLayout,
                                         .pack_rows = planes::kRows,
                                         .packed_bytes = planes::packed_bytes_of_both,
                                         .pack = planes::pack_both,
                                         .run = run}};

}  // namespace steady::cuda_halves_of_both
