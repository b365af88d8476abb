// As the matvec of this name, for tiles of four vectors: the same bits, weights decoded once per
// tile. Expected: several times the matvec's tokens per second.
#include "kernels/q5_k_matmul/op.h"
#include "kernels/q5_k_matmul/rows16.h"

namespace steady {

static const Variant<Q5_KMatmul> variant{
    "avx512_vnni_rows16", matmul_rows16::options<Q5_KMatmul, q5_k_matmul::Dot>(q5_k_rows16::pack)};

}  // namespace steady
