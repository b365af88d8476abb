// What the GPU variants of the joined experts enqueue.
#pragma once

#include "kernels/moe_decode/op.h"

namespace steady::cuda {

void run_moe_decode(const MoeDecode::Args& args, Range range, bool as_floats);

// Whether the matrices' planes begin at multiples of 16 bytes for every expert.
inline bool experts_align(const MoeDecodeShape& shape) {
    return shape.hidden % 8 == 0 && shape.cols % 8 == 0;
}
constexpr std::int64_t kMostExperts = 1024;

}  // namespace steady::cuda
