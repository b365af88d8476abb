// As the matvec of this name, for tiles of four vectors: the same bits, weights decoded once per
// tile. Expected: several times the matvec's tokens per second, bound by multiplications.
#include "kernels/q4_0_matmul/op.h"
#include "kernels/q4_0_matmul/rows16.h"

namespace steady {

static const Variant<Q4_0Matmul> variant{
    "avx512_vnni_rows16_q16",
    matmul_rows16::options<Q4_0Matmul, q4_0_matmul::Dot<Input::q16, 4>>(q4_0_rows16::pack)};

}  // namespace steady
