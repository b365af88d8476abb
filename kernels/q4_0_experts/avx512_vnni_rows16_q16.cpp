// As avx512_vnni_rows16, with 16-bit activations in both products: the quantisation in the epilogue
// writes two bytes per value. Expected: as fast where memory is the bound, and far closer to exact.
#include "kernels/q4_0_experts/rows16.h"

namespace steady {

static const Variant<Q4_0Experts> variant{
    "avx512_vnni_rows16_q16", q4_0_rows16::experts_options<q4_0_rows16::SixteenBit<>>()};

}  // namespace steady
