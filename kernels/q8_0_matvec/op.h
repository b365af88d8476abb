// Matrix times vector, weights in Q8_0: 34 bytes per 32 values; cols is a multiple of 32.
#pragma once

#include "kernels/matrix/matvec.h"

namespace steady {

struct Q8_0Matvec : MatvecOp<Q8_0Matvec, Type::q8_0> {
    static constexpr const char* name = "q8_0_matvec";
    static std::vector<MatvecShape> model_shapes();
};

}  // namespace steady
