// As avx512_all_heads, with the next tile fetched into L2 meanwhile, a line per turn of the loops.
// Expected: at depth near what the multiplications alone take, since memory then works beside them.
#include "kernels/mla_attention/all_heads_avx512.h"

namespace steady {

static const Variant<MlaAttention> variant{
    "avx512_all_heads_prefetch",
    mla_avx512::tile_options(mla_avx512::run_all_heads<mla_avx512::NextTile>)};

}  // namespace steady
