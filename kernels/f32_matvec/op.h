// Matrix times vector, weights in F32: the router, and models that were never quantised. w is float
// in memory order, at any address that is a multiple of 4.
#pragma once

#include "kernels/matrix/matvec.h"

namespace steady {

struct F32Matvec : MatvecOp<F32Matvec, Type::f32> {
    static constexpr const char* name = "f32_matvec";
    static std::vector<MatvecShape> model_shapes();
};

}  // namespace steady
