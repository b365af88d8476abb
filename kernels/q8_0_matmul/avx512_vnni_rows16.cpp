// As the matvec of this name, for tiles of eight vectors: the same bits, weights read once per
// batch. Expected: several times the matvec's tokens per second.
#include "kernels/q8_0_matmul/op.h"
#include "kernels/q8_0_matmul/rows16.h"

namespace steady {

static const Variant<Q8_0Matmul> variant{
    "avx512_vnni_rows16", matmul_rows16::options<Q8_0Matmul, q8_0_matmul::Dot>(q8_0_rows16::pack)};

}  // namespace steady
