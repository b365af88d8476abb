// What the GPU variants of the picked row enqueue.
#pragma once

#include "kernels/token_row/op.h"

namespace steady::cuda {

void run_token_row(const TokenRow::Args& args, bool as_floats);

}  // namespace steady::cuda
