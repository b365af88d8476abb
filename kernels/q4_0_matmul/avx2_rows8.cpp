// As the matvec of this name, for tiles of four vectors: the same bits, nibbles taken apart once
// per tile and weights read from memory once per batch. Expected: two to three times the matvec's
// tokens per second, since arithmetic becomes the bound.
#include "kernels/q4_0_matmul/op.h"
#include "kernels/q4_0_matmul/rows_avx2.h"

namespace steady {

static const Variant<Q4_0Matmul> variant{
    "avx2_rows8",
    matmul_avx2::options<Q4_0Matmul, q4_0_matmul_avx2::Dot<Input::q8, 8>>(q4_0_rows8::pack)};

}  // namespace steady
