// The experts' outputs, whose rows are asked for as soon as the experts are chosen.
#pragma once

#include "kernels/block_decode/cuda.h"

namespace steady::cuda {

// Set by the hidden values' first block when it has written the choice, cleared by the model
// block's first kernel. Who reads it must have started after that one's end: attention starts
// what is behind it late then.
inline unsigned* chosen_of(const BlockDecode::Args& args) {
    return reinterpret_cast<unsigned*>(args.scratch + BlockDecode::scratch_floats(args.shape) -
                                       BlockDecode::kChosen);
}

void run_hidden_early(const BlockDecode::Args& args);
void run_outputs_early(const BlockDecode::Args& args, const Ways& ways);

}  // namespace steady::cuda
