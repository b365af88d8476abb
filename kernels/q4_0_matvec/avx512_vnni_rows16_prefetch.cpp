// As avx512_vnni_rows16, with the weights fetched 4 KB ahead by software.
// Expected: no gain, since a single sequential stream is what the hardware prefetcher is best at.
#include "kernels/q4_0_matvec/rows16.h"

namespace steady {

static const Variant<Q4_0Matvec> variant{
    "avx512_vnni_rows16_prefetch", q4_0_rows16::matvec_options<q4_0_rows16::EightBit<4096>>()};

}  // namespace steady
