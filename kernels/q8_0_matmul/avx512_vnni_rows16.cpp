// As the matvec of this name, for tiles of eight vectors: the same bits, weights read once per
// batch. Expected: several times the matvec's tokens per second.
#include "kernels/q8_0_matmul/op.h"
#include "kernels/q8_0_matmul/rows16.h"

namespace steady {

static const Variant<Q8_0Matmul> variant{
    "avx512_vnni_rows16",
    {
        .needs = cpu::avx512_vnni,
        .supports = [](const MatmulShape& shape) { return shape.rows % 16 == 0; },
        .granule = matmul_rows16::kRows,
        .input = Input::q8,
        .layout = "rows16",
        .pack_rows = matmul_rows16::kRows,
        .packed_bytes = matmul_rows16::packed_bytes<Type::q8_0>,
        .pack = q8_0_rows16::pack,
        .run = matmul_rows16::run<q8_0_matmul::Dot>,
    }};

}  // namespace steady
