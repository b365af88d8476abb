// As avx2_rows8_q16, sixteen rows to a broadcast of x, sums kept in registers by hand.
// Expected: a third more than avx2_rows8_q16 where arithmetic is the bound, by four fifths of its
// instructions and no sums on the stack; the speed of memory where nobody shares the core.
#include "kernels/layouts/q4_0_rows16_avx2.h"
#include "kernels/q4_0_experts/rows_avx2.h"

namespace steady {

static const Variant<Q4_0Experts> variant{
    "avx2_rows16_q16", q4_0_rows_avx2::experts_options<q4_0_rows16_avx2::SixteenBit<>>()};

}  // namespace steady
