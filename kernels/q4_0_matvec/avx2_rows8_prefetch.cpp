// As avx2_rows8, with the weights fetched four kilobytes ahead by software.
// Expected: a gain wherever rows start cold, since a row of a few kilobytes ends before the
// hardware's own prefetch runs at speed.
#include "kernels/q4_0_matvec/rows_avx2.h"

namespace steady {

static const Variant<Q4_0Matvec> variant{
    "avx2_rows8_prefetch", q4_0_rows_avx2::matvec_options<q4_0_rows8::EightBit<4096>>()};

}  // namespace steady
