// Matrix times several vectors, weights in Q6_K: what a prompt's batch calls where a single token
// calls q6_k_matvec. Cols is a multiple of 256.
#pragma once

#include "kernels/matrix/matmul.h"

namespace steady {

struct Q6_KMatmul : MatmulOp<Q6_KMatmul, Type::q6_k> {
    static constexpr const char* name = "q6_k_matmul";
};

}  // namespace steady
