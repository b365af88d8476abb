// As avx512_vnni_rows16, blocked for the second-level cache. Expected: as q4_0_matmul's of this
// name, on the tenth of a prompt that these matrices take.
#include "kernels/layouts/matmul_panels.h"
#include "kernels/q5_k_matmul/op.h"
#include "kernels/q5_k_matmul/rows16.h"

namespace steady {

static const Variant<Q5_KMatmul> variant{
    "avx512_vnni_rows16_panels",
    matmul_panels::options<Q5_KMatmul, matmul_panels::DotTiles<q5_k_matmul::Dot>>(
        q5_k_rows16::pack)};

}  // namespace steady
