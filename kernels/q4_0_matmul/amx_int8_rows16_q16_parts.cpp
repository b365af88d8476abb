// As amx_int8_rows16_parts with 16-bit activations: two products for each block, and one conversion
// to floats. Expected: two thirds of its tokens per second.
#include "kernels/q4_0_matmul/op.h"
#include "kernels/q4_0_matmul/parts_amx.h"

namespace steady {

static const Variant<Q4_0Matmul> variant{
    "amx_int8_rows16_q16_parts",
    matmul_amx::options<Q4_0Matmul, q4_0_matmul::Parts<Input::q16, 4096>>(q4_0_rows16::pack)};

}  // namespace steady
