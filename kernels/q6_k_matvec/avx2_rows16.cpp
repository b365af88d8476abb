// Sixteen rows side by side for Q6_K with AVX2, two registers of rows.
// Expected: two to three times avx2, which decodes scales and sums lanes row by row.
#include "kernels/q6_k_matvec/rows16_avx2.h"

namespace steady {

static const Variant<Q6_KMatvec> variant{"avx2_rows16", q6_k_rows16_avx2::options<0>()};

}  // namespace steady
