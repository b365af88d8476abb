// As avx512_vnni_rows16, with the weights fetched 4 KB ahead by software.
// Expected: ahead of it by the tenth that the Q4_0 matvec gained, when the weights are cold.
#include "kernels/q6_k_matvec/op.h"
#include "kernels/q6_k_matvec/rows16.h"

namespace steady {

static const Variant<Q6_KMatvec> variant{"avx512_vnni_rows16_prefetch",
                                         {
                                             .needs = cpu::avx512_vnni,
                                             .supports =
                                                 [](const MatvecShape& shape) {
                                                     return shape.rows % q6_k_rows16::kRows == 0 &&
                                                            shape.cols <= sums16::kMaxCols;
                                                 },
                                             .granule = q6_k_rows16::kRows,
                                             .input = Input::q8,
                                             .layout = "rows16",
                                             .pack_rows = q6_k_rows16::kRows,
                                             .packed_bytes = q6_k_rows16::packed_bytes,
                                             .pack = q6_k_rows16::pack,
                                             .run = q6_k_rows16::run<4096>,
                                         }};

}  // namespace steady
