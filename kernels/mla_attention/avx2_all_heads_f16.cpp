// As avx2_all_heads over a cache of two bytes per value, made floats once per tile.
// Expected: less than avx2_all_heads where the cache is warm, more where it comes from memory.
#include "kernels/mla_attention/all_heads_avx2.h"

namespace steady {

static const Variant<MlaAttention> variant{"avx2_all_heads_f16", mla_avx2_tiles::options<Half>()};

}  // namespace steady
