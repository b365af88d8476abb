// Matrix times several vectors, weights in Q8_0: what a prompt's batch calls where a single token
// calls q8_0_matvec. Cols is a multiple of 32.
#pragma once

#include "kernels/matrix/matmul.h"

namespace steady {

struct Q8_0Matmul : MatmulOp<Q8_0Matmul, Type::q8_0> {
    static constexpr const char* name = "q8_0_matmul";
};

}  // namespace steady
