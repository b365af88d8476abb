// As avx512_vnni_rows16_q16, sixteen vectors at once with the tiles of AMX: two products, of both
// bytes of the activations, take the place of 256 of VNNI. Expected: twice its tokens per second
// where nine vectors or more share a matrix.
#include "kernels/q4_0_matmul/op.h"
#include "kernels/q4_0_matmul/rows16_amx.h"

namespace steady {

static const Variant<Q4_0Matmul> variant{
    "amx_int8_rows16_q16", q4_0_matmul::amx_options<q4_0_matmul::Dot<Input::q16, 4>>()};

}  // namespace steady
