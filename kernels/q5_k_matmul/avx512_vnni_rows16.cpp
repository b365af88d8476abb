// As the matvec of this name, for tiles of four vectors: the same bits, weights decoded once per
// tile. Expected: several times the matvec's tokens per second.
#include "kernels/q5_k_matmul/op.h"
#include "kernels/q5_k_matmul/rows16.h"

namespace steady {

static const Variant<Q5_KMatmul> variant{
    "avx512_vnni_rows16",
    {
        .needs = cpu::avx512_vnni,
        .supports = [](const MatmulShape& shape) { return shape.rows % 16 == 0; },
        .granule = matmul_rows16::kRows,
        .input = Input::q8,
        .layout = "rows16",
        .pack_rows = matmul_rows16::kRows,
        .packed_bytes = matmul_rows16::packed_bytes<Type::q5_k>,
        .pack = q5_k_rows16::pack,
        .run = matmul_rows16::run<q5_k_matmul::Dot>,
    }};

}  // namespace steady
