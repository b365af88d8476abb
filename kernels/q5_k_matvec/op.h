// Matrix times vector, weights in Q5_K: gate and up of the shared experts. 176 bytes per 256
// values; cols is a multiple of 256.
#pragma once

#include "kernels/matrix/matvec.h"

namespace steady {

struct Q5_KMatvec : MatvecOp<Type::q5_k> {
    static constexpr const char* name = "q5_k_matvec";
    static std::vector<Shape> model_shapes();              // what the three models use: benchmarked
    static std::vector<Shape> odd_shapes(Random& random);  // legal and awkward: checked besides
    static Case<Q5_KMatvec> make_case(const Shape& shape, Random& random, Input input);
    static double worst_error(
        const Case<Q5_KMatvec>& test_case);  // error over its bound: at most 1 passes
};

}  // namespace steady
