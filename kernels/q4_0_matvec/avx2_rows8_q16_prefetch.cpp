// As avx2_rows8_q16, with the weights fetched four kilobytes ahead by software.
// Expected: what prefetch gives to 8-bit activations, less where arithmetic is the bound.
#include "kernels/q4_0_matvec/rows_avx2.h"

namespace steady {

static const Variant<Q4_0Matvec> variant{
    "avx2_rows8_q16_prefetch", q4_0_rows_avx2::matvec_options<q4_0_rows8::SixteenBit<4096>>()};

}  // namespace steady
