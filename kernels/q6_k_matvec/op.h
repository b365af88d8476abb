// Matrix times vector, weights in Q6_K: the output matrix and down of the shared experts. 210 bytes
// per 256 values; cols is a multiple of 256.
#pragma once

#include "kernels/matrix/matvec.h"

namespace steady {

struct Q6_KMatvec : MatvecOp<Type::q6_k> {
    static constexpr const char* name = "q6_k_matvec";
    static std::vector<Shape> model_shapes();              // what the three models use: benchmarked
    static std::vector<Shape> odd_shapes(Random& random);  // legal and awkward: checked besides
    static Case<Q6_KMatvec> make_case(const Shape& shape, Random& random, Input input);
    static double worst_error(
        const Case<Q6_KMatvec>& test_case);  // error over its bound: at most 1 passes
};

}  // namespace steady
