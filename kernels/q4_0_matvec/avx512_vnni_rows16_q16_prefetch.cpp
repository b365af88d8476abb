// As avx512_vnni_rows16_q16, with the weights fetched 4 KB ahead by software.
// Expected: ahead of it by as much as avx512_vnni_rows16_prefetch is of avx512_vnni_rows16, since
// both wait for the same bytes.
#include "kernels/q4_0_matvec/rows16.h"

namespace steady {

static const Variant<Q4_0Matvec> variant{
    "avx512_vnni_rows16_q16_prefetch",
    q4_0_rows16::matvec_options<q4_0_rows16::SixteenBit<4096>>()};

}  // namespace steady
