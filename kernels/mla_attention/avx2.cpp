// Head by head in three passes with AVX2.
// Expected: the choice without AVX-512; each head reads the cache again.
#include "kernels/mla_attention/rows_avx2.h"

namespace steady {

static const Variant<MlaAttention> variant{"avx2", mla_avx2::options<float>()};

}  // namespace steady
