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

// The same with one thing otherwise, which kernel_ways.cu has: for experts in Q4_0
// and a shared one whose gate and up are Q5_K.
enum class ExpertsWay : int {
    per_expert,        // a launch for each expert
    shared_apart,      // launches of the shared expert's own
    gate_then_up,      // a launch for each of the two products
    swiglu_apart,      // a kernel that gates
    sum_apart,         // a kernel that weighs and adds up the experts' outputs
    choice_by_thread,  // one thread looks for the best experts
    choice_by_warp,    // a warp does
    choice_apart,      // a kernel that chooses for all blocks
    norm_apart,        // a kernel that norms
    scale_apart,       // weights are divided by their sum, then multiplied by the scale
    reciprocal,        // the sum's reciprocal is an estimate
    weights_behind,    // weights meet an expert's products, not its hidden values
};
bool takes_way(const MoeDecodeShape& shape, ExpertsWay way);
void run_moe_decode_way(const MoeDecode::Args& args, Range range, ExpertsWay way);

}  // namespace steady::cuda
