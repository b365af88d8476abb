// Matrix times vector, weights in Q4_0: attention and routed experts of the headline model. Rows of
// 18 bytes per 32 values; cols is a multiple of 32.
#pragma once

#include "kernels/matrix/matvec.h"

namespace steady {

struct Q4_0Matvec : MatvecOp<Q4_0Matvec, Type::q4_0> {
    static constexpr const char* name = "q4_0_matvec";
    static std::vector<MatvecShape> model_shapes();
};

}  // namespace steady
