// Matrix times several vectors, weights in Q6_K: what a prompt's batch calls where a single token
// calls q6_k_matvec. Cols is a multiple of 256.
#pragma once

#include "kernels/base/matmul.h"

namespace steady {

struct Q6_KMatmul : MatmulOp<Type::q6_k> {
    static constexpr const char* name = "q6_k_matmul";
    static std::vector<Shape> model_shapes() { return model_matmul_shapes(); }
    static std::vector<Shape> odd_shapes(Random& random) { return odd_matmul_shapes(random, 256); }
    static Case<Q6_KMatmul> make_case(const Shape& shape, Random& random, Input input);
    static double worst_error(const Case<Q6_KMatmul>& test_case);
};

}  // namespace steady
