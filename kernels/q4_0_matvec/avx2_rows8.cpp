// Eight rows side by side (layout rows8) with AVX2, 8-bit activations.
// Expected: at least twice avx2, and the best choice on a CPU without AVX-512.
#include "kernels/q4_0_matvec/rows_avx2.h"

namespace steady {

static const Variant<Q4_0Matvec> variant{"avx2_rows8",
                                         q4_0_rows_avx2::matvec_options<q4_0_rows8::EightBit<>>()};

}  // namespace steady
