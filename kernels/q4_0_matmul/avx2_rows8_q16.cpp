// As avx2_rows8 with 16-bit activations: the bits of the matvec of this name.
// Expected: little more than half of avx2_rows8, which multiplies once.
#include "kernels/q4_0_matmul/op.h"
#include "kernels/q4_0_matmul/rows_avx2.h"

namespace steady {

static const Variant<Q4_0Matmul> variant{
    "avx2_rows8_q16",
    matmul_avx2::options<Q4_0Matmul, q4_0_matmul_avx2::Dot<Input::q16, 8>>(q4_0_rows8::pack)};

}  // namespace steady
