// As avx512 over a cache of bfloats, made floats by a shift as they are loaded: half the memory,
// and the range of a float. Expected: as avx512_f16, for three bits less of each value.
#include "kernels/mla_attention/tiles_avx512.h"

namespace steady {

static const Variant<MlaAttention> variant{
    "avx512_bf16",
    mla_avx512::options<Bfloat>(mla_avx512::run<mla_avx512::Nothing, mla_avx512::kHeads, Bfloat>)};

}  // namespace steady
