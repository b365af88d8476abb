// The weights are kept as half floats and never decoded again, at 2.9 times the bytes.
// Expected: a loss in a model, where memory is the bound; in a cache that holds them all, a gain
// over decoding row by row. Logits as close as half floats allow.
#include "kernels/layouts/f16_cache.h"
#include "kernels/q5_k_matvec/op.h"

namespace steady {

static const Variant<Q5_KMatvec> variant{"avx512_f16_cache", f16_cache::options<Q5_KMatvec>()};

}  // namespace steady
