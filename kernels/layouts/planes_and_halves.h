// Weights of Q5_K and Q6_K stored twice, chunk by chunk of eight rows: as half floats row after
// row, and in planes behind them, so that both are aligned. Others are stored in planes alone. A
// variant reads one of the two, so that an experiment holds them against each other over the same
// weights.
#pragma once

#include "kernels/layouts/planes.h"

namespace steady::planes {

constexpr const char* kBothLayout = "planes8_and_halves";

constexpr bool has_halves(Type type) { return type == Type::q5_k || type == Type::q6_k; }

std::int64_t packed_bytes_of_both(MatrixShape shape);
void pack_both(MatrixShape shape, const std::byte* src, std::byte* dst);

}  // namespace steady::planes
