// Matrix times several vectors, weights in Q4_0: what a prompt's batch calls where a single token
// calls q4_0_matvec. Cols is a multiple of 32.
#pragma once

#include "kernels/base/matmul.h"

namespace steady {

struct Q4_0Matmul : MatmulOp<Type::q4_0> {
    static constexpr const char* name = "q4_0_matmul";
    static std::vector<Shape> model_shapes() { return model_matmul_shapes(); }
    static std::vector<Shape> odd_shapes(Random& random) { return odd_matmul_shapes(random, 32); }
    static Case<Q4_0Matmul> make_case(const Shape& shape, Random& random, Input input);
    static double worst_error(const Case<Q4_0Matmul>& test_case);
};

}  // namespace steady
