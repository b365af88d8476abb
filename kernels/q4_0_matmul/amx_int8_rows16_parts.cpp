// As amx_int8_rows16, but part by part of 256 columns for two stripes of rows and all vectors,
// weights are fetched ahead, and fewer than nine vectors take one tile of VNNI. Expected: twice the
// tokens per second of avx512_vnni_rows16 where sixteen vectors or more share a matrix. Measured
// warm, in products per cycle of 2.6 GHz: 157 with 512 vectors, 145 with 64, 108 with 16, where
// VNNI makes 90.
#include "kernels/q4_0_matmul/op.h"
#include "kernels/q4_0_matmul/parts_amx.h"

namespace steady {

static const Variant<Q4_0Matmul> variant{
    "amx_int8_rows16_parts",
    matmul_amx::options<Q4_0Matmul, q4_0_matmul::Parts<Input::q8, 4096>>(q4_0_rows16::pack)};

}  // namespace steady
