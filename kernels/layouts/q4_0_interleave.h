// Q4_0 rows side by side, so that a register lane is a row: `lanes` rows become one stream of
// blocks. For each block of 32 columns: `lanes` scales, then four times 4 · lanes bytes; byte 4r +
// i of the j-th holds column 4j + i of row r in its low nibble and column 16 + 4j + i in its high
// one. It takes exactly the bytes of the GGUF layout.
#pragma once

#include "kernels/registry/registry.h"

namespace steady {

// The bytes of `shape` in any such layout.
std::int64_t interleaved_q4_0_bytes(MatrixShape shape);

// shape.rows is a multiple of lanes, shape.cols of 32.
void interleave_q4_0(MatrixShape shape, std::int64_t lanes, const std::byte* src, std::byte* dst);

}  // namespace steady
