// As avx2_rows8, with the weights fetched four kilobytes ahead by software.
// Expected: a gain, since each expert is somewhere else in memory and its rows start cold.
#include "kernels/q4_0_experts/rows_avx2.h"

namespace steady {

static const Variant<Q4_0Experts> variant{
    "avx2_rows8_prefetch", q4_0_rows_avx2::experts_options<q4_0_rows8::EightBit<4096>>()};

}  // namespace steady
