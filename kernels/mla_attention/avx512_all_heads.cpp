// As avx512, the same bits, but all heads of a thread go over a tile of 32 positions before the
// next: each thread takes the cache from memory once, where avx512 takes it once per five heads.
// Expected: ahead at depth by what the second passage costs, equal while the cache fits in L2.
#include "kernels/mla_attention/all_heads_avx512.h"

namespace steady {

static const Variant<MlaAttention> variant{
    "avx512_all_heads", mla_avx512::tile_options(mla_avx512::run_all_heads<mla_avx512::Nothing>)};

}  // namespace steady
