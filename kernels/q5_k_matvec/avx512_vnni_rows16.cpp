// Sixteen rows side by side for Q5_K: a lane is a row, no horizontal sums, one sequential stream.
// Expected: bound by memory; plain rows cost a horizontal sum and a scale decode each.
#include "kernels/q5_k_matvec/op.h"
#include "kernels/q5_k_matvec/rows16.h"

namespace steady {

static const Variant<Q5_KMatvec> variant{
    "avx512_vnni_rows16",
    {
        .needs = cpu::avx512_vnni,
        .supports = [](const MatvecShape& shape) { return shape.rows % q5_k_rows16::kRows == 0; },
        .granule = q5_k_rows16::kRows,
        .input = Input::q8,
        .layout = "rows16",
        .pack_rows = q5_k_rows16::kRows,
        .packed_bytes = q5_k_rows16::packed_bytes,
        .pack = q5_k_rows16::pack,
        .run = q5_k_rows16::run<0>,
    }};

}  // namespace steady
