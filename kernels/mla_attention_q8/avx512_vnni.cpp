// Queries of one byte per value against a cache of bytes, integer products throughout.
// Expected: several times mla_attention's avx512 at depth, which is bound by multiply-adds on
// floats and by four times the bytes; behind it at a few positions, where overheads count.
#include "kernels/mla_attention_q8/vnni.h"

namespace steady {

static const Variant<MlaAttentionQ8> variant{"avx512_vnni",
                                             mla_vnni::options(Input::q8, mla_vnni::run<false>)};

}  // namespace steady
