// Five heads share each key row; online softmax over tiles of 32 positions.
// Expected: bound by multiply-adds instead of memory or libm; far ahead of the reference at depth.
#include "kernels/mla_attention/tiles_avx512.h"

namespace steady {

static const Variant<MlaAttention> variant{
    "avx512", mla_avx512::options(mla_avx512::run<mla_avx512::Nothing>)};

}  // namespace steady
