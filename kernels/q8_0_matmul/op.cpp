// Cases of the Q8_0 matrices with several vectors.
#include "kernels/q8_0_matmul/op.h"

#include "kernels/base/matvec_case.h"

namespace steady {

Case<Q8_0Matmul> Q8_0Matmul::make_case(const Shape& shape, Random& random, Input input) {
    Case<Q8_0Matmul> made;
    made.args =
        fill_matmul_case(type, shape, random, input, made.memory, made.expected, made.bound);
    made.weights.push_back(whole_matrix(type, shape.groups * shape.rows, shape.cols, made.args.w));
    return made;
}

double Q8_0Matmul::worst_error(const Case<Q8_0Matmul>& test_case) {
    return worst_ratio(test_case.args.y, test_case.expected, test_case.bound);
}

static const RegisteredOp<Q8_0Matmul> op;

}  // namespace steady
