// As avx512, with the next tile of the cache fetched into L2 meanwhile, a line per turn of the
// loops. Expected: faster at depth, where the cache does not fit; equal when it does.
#include "kernels/mla_attention/tiles_avx512.h"

namespace steady {

static const Variant<MlaAttention> variant{
    "avx512_prefetch", mla_avx512::options(mla_avx512::run<mla_avx512::NextTile>)};

}  // namespace steady
