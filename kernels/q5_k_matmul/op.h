// Matrix times several vectors, weights in Q5_K: what a prompt's batch calls where a single token
// calls q5_k_matvec. Cols is a multiple of 256.
#pragma once

#include "kernels/base/matmul.h"

namespace steady {

struct Q5_KMatmul : MatmulOp<Type::q5_k> {
    static constexpr const char* name = "q5_k_matmul";
    static std::vector<Shape> model_shapes() { return model_matmul_shapes(); }
    static std::vector<Shape> odd_shapes(Random& random) { return odd_matmul_shapes(random, 256); }
    static Case<Q5_KMatmul> make_case(const Shape& shape, Random& random, Input input);
    static double worst_error(const Case<Q5_KMatmul>& test_case);
};

}  // namespace steady
