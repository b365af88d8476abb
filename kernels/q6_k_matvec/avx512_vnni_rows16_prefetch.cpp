// As avx512_vnni_rows16, with the weights fetched 4 KB ahead by software.
// Expected: ahead of it by the tenth that the Q4_0 matvec gained, when the weights are cold.
#include "kernels/q6_k_matvec/rows16.h"

namespace steady {

static const Variant<Q6_KMatvec> variant{"avx512_vnni_rows16_prefetch",
                                         q6_k_rows16::options<4096>()};

}  // namespace steady
