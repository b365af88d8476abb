// As avx2 over a cache of bfloats. Expected: the choice for it without AVX-512.
#include "kernels/mla_attention/rows_avx2.h"

namespace steady {

static const Variant<MlaAttention> variant{"avx2_bf16", mla_avx2::options<Bfloat>()};

}  // namespace steady
