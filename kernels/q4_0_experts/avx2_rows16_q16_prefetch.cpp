// As avx2_rows16_q16, with the weights fetched four kilobytes ahead by software.
// Expected: little for long matrices, whose one stream the CPU fetches ahead by itself; more where
// an expert's matrix begins.
#include "kernels/layouts/q4_0_rows16_avx2.h"
#include "kernels/q4_0_experts/rows_avx2.h"

namespace steady {

static const Variant<Q4_0Experts> variant{
    "avx2_rows16_q16_prefetch",
    q4_0_rows_avx2::experts_options<q4_0_rows16_avx2::SixteenBit<4096>>()};

}  // namespace steady
