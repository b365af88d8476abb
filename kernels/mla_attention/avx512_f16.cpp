// As avx512 over a cache of half floats, made floats as they are loaded: half the memory.
// Expected: level with avx512 where the cache fits, ahead at depth, where memory is the bound; the
// conversions are repeated for every five heads.
#include "kernels/mla_attention/tiles_avx512.h"

namespace steady {

static const Variant<MlaAttention> variant{
    "avx512_f16",
    mla_avx512::options<Half>(mla_avx512::run<mla_avx512::Nothing, mla_avx512::kHeads, Half>)};

}  // namespace steady
