// As avx512, online softmax over tiles, but head by head: each head reads every row of the cache
// again. Expected: behind avx512 by what sharing a row among heads saves, most of it at depth,
// where the cache no longer fits and is read once per head.
#include "kernels/mla_attention/tiles_avx512.h"

namespace steady {

static const Variant<MlaAttention> variant{
    "avx512_one_head", mla_avx512::options(mla_avx512::run<mla_avx512::Nothing, 1>)};

}  // namespace steady
