// Matrix times vector, weights in Q8_0: 34 bytes per 32 values; cols is a multiple of 32.
#pragma once

#include "kernels/matrix/matvec.h"

namespace steady {

struct Q8_0Matvec : MatvecOp<Type::q8_0> {
    static constexpr const char* name = "q8_0_matvec";
    static std::vector<Shape> model_shapes();              // what the three models use: benchmarked
    static std::vector<Shape> odd_shapes(Random& random);  // legal and awkward: checked besides
    static Case<Q8_0Matvec> make_case(const Shape& shape, Random& random, Input input);
    static double worst_error(
        const Case<Q8_0Matvec>& test_case);  // error over its bound: at most 1 passes
};

}  // namespace steady
