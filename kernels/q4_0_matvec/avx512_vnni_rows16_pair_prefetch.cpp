// As avx512_vnni_rows16_prefetch, two groups of sixteen rows per pass: 8-bit activations, half the
// multiplications of avx512_vnni_rows16_q16_pair_prefetch over the same bytes.
// Expected: faster than that variant where multiplications are the bound and memory is not.
#include "kernels/q4_0_matvec/rows16.h"

namespace steady {

static const Variant<Q4_0Matvec> variant{"avx512_vnni_rows16_pair_prefetch",
                                         q4_0_rows16::pair_options<q4_0_rows16::EightBit<4096>>()};

}  // namespace steady
