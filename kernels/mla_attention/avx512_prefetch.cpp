// As avx512, with the next tile of the cache fetched while the current one is summed up: that pass
// leaves the memory idle otherwise.
// Expected: faster at depth, where the cache does not fit; equal when it does.
#include "kernels/mla_attention/tiles_avx512.h"

namespace steady {

static const Variant<MlaAttention> variant{
    "avx512_prefetch", mla_avx512::options(mla_avx512::run<mla_avx512::NextTile>)};

}  // namespace steady
