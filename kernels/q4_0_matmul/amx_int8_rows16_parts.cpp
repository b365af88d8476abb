// As amx_int8_rows16, but the sums of 256 columns are made while those of the 256 before become
// floats, weights are fetched ahead, and fewer than nine vectors take one tile of VNNI. Expected:
// twice the tokens per second of avx512_vnni_rows16 where sixteen vectors or more share a matrix.
// Measured with 64: 1.1 to 1.3 times; each product of tiles takes about 100 cycles, and not the 35
// that its instructions should.
#include "kernels/q4_0_matmul/op.h"
#include "kernels/q4_0_matmul/parts_amx.h"

namespace steady {

static const Variant<Q4_0Matmul> variant{
    "amx_int8_rows16_parts",
    matmul_amx::options<Q4_0Matmul, q4_0_matmul::Parts<Input::q8, 4096>>(q4_0_rows16::pack)};

}  // namespace steady
