// As avx2_rows16, with the weights fetched four kilobytes ahead by software.
// Expected: a few percent, less than for Q4_0, whose rows take fewer instructions per byte.
#include "kernels/q5_k_matvec/rows16_avx2.h"

namespace steady {

static const Variant<Q5_KMatvec> variant{"avx2_rows16_prefetch", q5_k_rows16_avx2::options<4096>()};

}  // namespace steady
