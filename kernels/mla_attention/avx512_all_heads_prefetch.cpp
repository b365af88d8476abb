// As avx512_all_heads, with the next tile fetched into L2 before the current one is worked on.
// Expected: faster at depth if the processor's own prefetch does not see as far; equal if it does.
#include "kernels/mla_attention/all_heads_avx512.h"

namespace steady {

static const Variant<MlaAttention> variant{
    "avx512_all_heads_prefetch", mla_avx512::tile_options(mla_avx512::run_all_heads<true>)};

}  // namespace steady
