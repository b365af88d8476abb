// As avx2_rows8 with 16-bit activations: twice the multiplications, 256 times finer rounding.
// Expected: behind avx2_rows8, since integer products take two instructions here and arithmetic is
// near the bound.
#include "kernels/q4_0_experts/rows_avx2.h"

namespace steady {

static const Variant<Q4_0Experts> variant{
    "avx2_rows8_q16", q4_0_rows_avx2::experts_options<q4_0_rows8::SixteenBit<>>()};

}  // namespace steady
