// Matrix times vector, weights in Q6_K: the output matrix and down of the shared experts. 210 bytes
// per 256 values; cols is a multiple of 256.
#pragma once

#include "kernels/matrix/matvec.h"

namespace steady {

struct Q6_KMatvec : MatvecOp<Q6_KMatvec, Type::q6_k> {
    static constexpr const char* name = "q6_k_matvec";
    static std::vector<MatvecShape> model_shapes();
};

}  // namespace steady
