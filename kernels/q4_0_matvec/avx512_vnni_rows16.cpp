// Sixteen rows side by side (layout rows16): a lane is a row, so there is no horizontal sum, one
// scale load serves sixteen rows, and the weights are one sequential stream.
// Expected: the fastest of the ladder, bound by memory (above 80 % of read bandwidth).
#include "kernels/q4_0_matvec/rows16.h"

namespace steady {

static const Variant<Q4_0Matvec> variant{"avx512_vnni_rows16",
                                         q4_0_rows16::matvec_options<q4_0_rows16::EightBit<>>()};

}  // namespace steady
