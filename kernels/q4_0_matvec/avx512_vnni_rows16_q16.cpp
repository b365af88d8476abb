// The layout rows16 with 16-bit activations: each weight byte meets the value's high and low byte,
// so the activation's rounding all but vanishes. Expected: as fast as avx512_vnni_rows16 wherever
// memory is the bound, since only multiplications are added; logits 50 times closer to the exact
// ones.
#include "kernels/q4_0_matvec/rows16.h"

namespace steady {

static const Variant<Q4_0Matvec> variant{"avx512_vnni_rows16_q16",
                                         q4_0_rows16::matvec_options<q4_0_rows16::SixteenBit<>>()};

}  // namespace steady
