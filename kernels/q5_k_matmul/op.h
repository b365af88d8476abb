// Matrix times several vectors, weights in Q5_K: what a prompt's batch calls where a single token
// calls q5_k_matvec. Cols is a multiple of 256.
#pragma once

#include "kernels/matrix/matmul.h"

namespace steady {

struct Q5_KMatmul : MatmulOp<Q5_KMatmul, Type::q5_k> {
    static constexpr const char* name = "q5_k_matmul";
};

}  // namespace steady
