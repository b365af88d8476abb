// Cases of the matrix-times-several-vectors ops: one generator for all weight types.
#pragma once

#include <vector>

#include "kernels/cases/op_info.h"
#include "kernels/matrix/matmul.h"
#include "kernels/matrix/matvec_case.h"

namespace steady {

MatmulArgs fill_matmul_case(Type type, const MatmulShape& shape, Random& random, Input input,
                            CaseMemory& memory, std::vector<double>& expected,
                            std::vector<double>& bound);

template <class Op, Type kType>
Case<Op> MatmulOp<Op, kType>::make_case(const MatmulShape& shape, Random& random, Input input) {
    Case<Op> made;
    made.args =
        fill_matmul_case(kType, shape, random, input, made.memory, made.expected, made.bound);
    made.weights.push_back(whole_matrix(kType, shape.groups * shape.rows, shape.cols, made.args.w));
    return made;
}

template <class Op, Type kType>
double MatmulOp<Op, kType>::worst_error(const Case<Op>& test_case) {
    return worst_ratio(test_case.args.y, test_case.expected, test_case.bound);
}

}  // namespace steady
