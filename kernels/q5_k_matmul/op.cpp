// Cases of the Q5_K matrices with several vectors.
#include "kernels/q5_k_matmul/op.h"

#include "kernels/base/matvec_case.h"

namespace steady {

Case<Q5_KMatmul> Q5_KMatmul::make_case(const Shape& shape, Random& random, Input input) {
    Case<Q5_KMatmul> made;
    made.args =
        fill_matmul_case(type, shape, random, input, made.memory, made.expected, made.bound);
    made.weights.push_back(whole_matrix(type, shape.groups * shape.rows, shape.cols, made.args.w));
    return made;
}

double Q5_KMatmul::worst_error(const Case<Q5_KMatmul>& test_case) {
    return worst_ratio(test_case.args.y, test_case.expected, test_case.bound);
}

static const RegisteredOp<Q5_KMatmul> op;

}  // namespace steady
