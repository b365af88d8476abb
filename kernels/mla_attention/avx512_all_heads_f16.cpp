// As avx512_f16, the same bits, a tile at a time for all heads of a thread: its half floats become
// floats once, not once per five heads, and come from memory once.
// Expected: ahead of avx512_all_heads at depth by half the memory, less the conversion.
#include "kernels/mla_attention/all_heads_avx512.h"

namespace steady {

static const Variant<MlaAttention> variant{
    "avx512_all_heads_f16",
    mla_avx512::tile_options<Half>(mla_avx512::run_all_heads<mla_avx512::Nothing, Half>)};

}  // namespace steady
