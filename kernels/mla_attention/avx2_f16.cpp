// As avx2 over a cache of half floats. Expected: the choice for it without AVX-512.
#include "kernels/mla_attention/rows_avx2.h"

namespace steady {

static const Variant<MlaAttention> variant{"avx2_f16", mla_avx2::options<Half>()};

}  // namespace steady
