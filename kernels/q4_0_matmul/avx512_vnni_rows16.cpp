// As the matvec of this name, for tiles of eight vectors: the same bits, weights decoded once per
// tile. Expected: nearly twice avx512_vnni_rows16_q16, which multiplies twice.
#include "kernels/q4_0_matmul/op.h"
#include "kernels/q4_0_matmul/rows16.h"

namespace steady {

static const Variant<Q4_0Matmul> variant{
    "avx512_vnni_rows16",
    matmul_rows16::options<Q4_0Matmul, q4_0_matmul::Dot<Input::q8, 8>>(q4_0_rows16::pack)};

}  // namespace steady
