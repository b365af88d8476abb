// Sixteen rows side by side for Q5_K: a lane is a row, no horizontal sums, one sequential stream.
// Expected: bound by memory; plain rows cost a horizontal sum and a scale decode each.
#include "kernels/q5_k_matvec/rows16.h"

namespace steady {

static const Variant<Q5_KMatvec> variant{"avx512_vnni_rows16", q5_k_rows16::options<0>()};

}  // namespace steady
