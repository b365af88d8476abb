// As avx512_vnni_rows16_prefetch, two groups of sixteen rows per pass: two memory streams run side
// by side and the activations' scales are loaded once for both. Expected: less than the dense Q4_0
// product gained (+2.25 % of the model), since these rows take a smaller part of a token.
#include "kernels/q6_k_matvec/rows16.h"

namespace steady {

static const Variant<Q6_KMatvec> variant{"avx512_vnni_rows16_pair_prefetch",
                                         q6_k_rows16::options<4096, 2>()};

}  // namespace steady
