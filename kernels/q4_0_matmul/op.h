// Matrix times several vectors, weights in Q4_0: what a prompt's batch calls where a single token
// calls q4_0_matvec. Cols is a multiple of 32.
#pragma once

#include "kernels/matrix/matmul.h"

namespace steady {

struct Q4_0Matmul : MatmulOp<Q4_0Matmul, Type::q4_0> {
    static constexpr const char* name = "q4_0_matmul";
};

}  // namespace steady
