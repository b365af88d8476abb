// Cases of the Q4_0 matrices with several vectors.
#include "kernels/q4_0_matmul/op.h"

#include "kernels/base/matvec_case.h"

namespace steady {

Case<Q4_0Matmul> Q4_0Matmul::make_case(const Shape& shape, Random& random, Input input) {
    Case<Q4_0Matmul> made;
    made.args =
        fill_matmul_case(type, shape, random, input, made.memory, made.expected, made.bound);
    made.weights.push_back(whole_matrix(type, shape.groups * shape.rows, shape.cols, made.args.w));
    return made;
}

double Q4_0Matmul::worst_error(const Case<Q4_0Matmul>& test_case) {
    return worst_ratio(test_case.args.y, test_case.expected, test_case.bound);
}

static const RegisteredOp<Q4_0Matmul> op;

}  // namespace steady
