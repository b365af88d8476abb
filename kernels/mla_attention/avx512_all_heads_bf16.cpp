// As avx512_all_heads_f16 over bfloats.
// Expected: level with it.
#include "kernels/mla_attention/all_heads_avx512.h"

namespace steady {

static const Variant<MlaAttention> variant{
    "avx512_all_heads_bf16",
    mla_avx512::tile_options<Bfloat>(mla_avx512::run_all_heads<mla_avx512::Nothing, Bfloat>)};

}  // namespace steady
