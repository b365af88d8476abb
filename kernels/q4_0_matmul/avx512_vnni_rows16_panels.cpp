// As avx512_vnni_rows16_even_prefetch, blocked for the second-level cache. Expected: no slower with
// batches of 64; with batches of 512, where every sixteen rows read a megabyte of vectors again,
// faster, so that such batches gain what they save of the weights.
#include "kernels/layouts/matmul_panels.h"
#include "kernels/q4_0_matmul/op.h"
#include "kernels/q4_0_matmul/rows16.h"

namespace steady {

static const Variant<Q4_0Matmul> variant{
    "avx512_vnni_rows16_panels",
    matmul_panels::options<Q4_0Matmul,
                           matmul_panels::DotTiles<q4_0_matmul::Dot<Input::q8, 8, 4096>>>(
        q4_0_rows16::pack)};

}  // namespace steady
