// As avx2_rows8_q16 on the layout of the matvec of this name: the same bits.
// Expected: beside avx2_rows8_q16, since eight rows are taken at a time here too.
#include "kernels/q4_0_matmul/op.h"
#include "kernels/q4_0_matmul/rows_avx2.h"

namespace steady {

static const Variant<Q4_0Matmul> variant{
    "avx2_rows16_q16",
    matmul_avx2::options<Q4_0Matmul, q4_0_matmul_avx2::Dot<Input::q16, 16>>(q4_0_rows16::pack)};

}  // namespace steady
