// As the matvec of this name, for tiles of four vectors: the same bits, weights decoded once per
// tile. Expected: several times the matvec's tokens per second.
#include "kernels/q6_k_matmul/op.h"
#include "kernels/q6_k_matmul/rows16.h"

namespace steady {

static const Variant<Q6_KMatmul> variant{"avx512_vnni_rows16",
                                         packed_options<Q6_KMatmul, q6_k_rows16::kRows>(
                                             cpu::avx512_vnni, Input::q8, q6_k_rows16::pack,
                                             [](const MatmulShape& shape) {
                                                 return shape.rows % q6_k_rows16::kRows == 0 &&
                                                        shape.cols <= sums16::kMaxCols;
                                             },
                                             q6_k_matmul::run)};

}  // namespace steady
