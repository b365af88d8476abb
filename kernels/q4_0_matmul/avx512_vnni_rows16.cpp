// As the matvec of this name, for tiles of eight vectors: the same bits, weights decoded once per
// tile. Expected: nearly twice avx512_vnni_rows16_q16, which multiplies twice.
#include "kernels/q4_0_matmul/op.h"
#include "kernels/q4_0_matmul/rows16.h"

namespace steady {

static const Variant<Q4_0Matmul> variant{
    "avx512_vnni_rows16",
    {
        .needs = cpu::avx512_vnni,
        .supports = [](const MatmulShape& shape) { return shape.rows % 16 == 0; },
        .granule = matmul_rows16::kRows,
        .input = Input::q8,
        .layout = "rows16",
        .pack_rows = matmul_rows16::kRows,
        .packed_bytes = matmul_rows16::packed_bytes<Type::q4_0>,
        .pack = q4_0_rows16::pack,
        .run = matmul_rows16::run<q4_0_matmul::Dot<Input::q8, 8>>,
    }};

}  // namespace steady
