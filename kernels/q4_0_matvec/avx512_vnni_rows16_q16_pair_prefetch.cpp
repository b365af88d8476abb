// As avx512_vnni_rows16_q16_prefetch, two groups of sixteen rows per pass.
// Expected: a part of what the second group gave to 8-bit activations without prefetch (+3.5 % of
// the model), since prefetch hides one stream's waiting already and only the shared broadcasts
// remain.
#include "kernels/q4_0_matvec/rows16.h"

namespace steady {

static const Variant<Q4_0Matvec> variant{
    "avx512_vnni_rows16_q16_pair_prefetch",
    q4_0_rows16::pair_options<q4_0_rows16::SixteenBit<4096>>()};

}  // namespace steady
