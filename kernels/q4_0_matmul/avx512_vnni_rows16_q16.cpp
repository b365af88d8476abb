// As the matvec of this name, for tiles of four vectors: the same bits, weights decoded once per
// tile. Expected: several times the matvec's tokens per second, bound by multiplications.
#include "kernels/q4_0_matmul/op.h"
#include "kernels/q4_0_matmul/rows16.h"

namespace steady {

static const Variant<Q4_0Matmul> variant{
    "avx512_vnni_rows16_q16",
    {
        .needs = cpu::avx512_vnni,
        .supports = [](const MatmulShape& shape) { return shape.rows % 16 == 0; },
        .granule = matmul_rows16::kRows,
        .input = Input::q16,
        .layout = "rows16",
        .pack_rows = matmul_rows16::kRows,
        .packed_bytes = matmul_rows16::packed_bytes<Type::q4_0>,
        .pack = q4_0_rows16::pack,
        .run = matmul_rows16::run<q4_0_matmul::Dot<Input::q16, 4>>,
    }};

}  // namespace steady
