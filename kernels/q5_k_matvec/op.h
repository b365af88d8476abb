// Matrix times vector, weights in Q5_K: gate and up of the shared experts. 176 bytes per 256
// values; cols is a multiple of 256.
#pragma once

#include "kernels/matrix/matvec.h"

namespace steady {

struct Q5_KMatvec : MatvecOp<Q5_KMatvec, Type::q5_k> {
    static constexpr const char* name = "q5_k_matvec";
    static std::vector<MatvecShape> model_shapes();
};

}  // namespace steady
