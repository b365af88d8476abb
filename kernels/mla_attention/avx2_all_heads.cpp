// A tile of the cache for all heads of a thread, five heads in registers at once.
// Expected: several times avx2 at depth, which reads the cache once per head and column.
#include "kernels/mla_attention/all_heads_avx2.h"

namespace steady {

static const Variant<MlaAttention> variant{"avx2_all_heads", mla_avx2_tiles::options<float>()};

}  // namespace steady
