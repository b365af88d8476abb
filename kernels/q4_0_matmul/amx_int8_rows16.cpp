// As avx512_vnni_rows16, sixteen vectors at once with the tiles of AMX: one product for 8192 of a
// block's multiplications. Expected: half again its tokens per second where nine vectors or more
// share a matrix; putting every block's sums together as floats is the bound.
#include "kernels/q4_0_matmul/op.h"
#include "kernels/q4_0_matmul/rows16_amx.h"

namespace steady {

static const Variant<Q4_0Matmul> variant{
    "amx_int8_rows16", q4_0_matmul::amx_options<q4_0_matmul::Dot<Input::q8, 8>>()};

}  // namespace steady
