// Matrix times vector, weights in F32: the router, and models that were never quantised. w is float
// in memory order, at any address that is a multiple of 4.
#pragma once

#include "kernels/matrix/matvec.h"

namespace steady {

struct F32Matvec : MatvecOp<Type::f32> {
    static constexpr const char* name = "f32_matvec";
    static std::vector<Shape> model_shapes();              // what the three models use: benchmarked
    static std::vector<Shape> odd_shapes(Random& random);  // legal and awkward: checked besides
    static Case<F32Matvec> make_case(const Shape& shape, Random& random, Input input);
    static double worst_error(
        const Case<F32Matvec>& test_case);  // error over its bound: at most 1 passes
};

}  // namespace steady
