// As avx512_vnni_rows16, with the weights fetched 4 KB ahead by software.
// Expected: ahead of it by the tenth that the Q4_0 matvec gained: each expert's rows are one
// stream.
#include "kernels/q4_0_experts/rows16.h"

namespace steady {

static const Variant<Q4_0Experts> variant{
    "avx512_vnni_rows16_prefetch", q4_0_rows16::experts_options<q4_0_rows16::EightBit<4096>>()};

}  // namespace steady
