// Cases of the matrix-vector ops: one generator for all weight types, and the error bound they
// share.
#pragma once

#include "kernels/cases/op_info.h"
#include "kernels/matrix/matvec.h"

namespace steady {

// What dot products of `cols` weights with x come to, in double, and how far a correct float
// implementation may be from it (see matvec_case.cpp for the derivation).
struct DotExpectation {
    double value = 0;
    double bound = 0;
    double magnitude = 0;  // Σ|w·x|, the parts of w = d·q − m apart
};
DotExpectation expect_dot(Type type, const std::byte* row, const double* x, std::int64_t cols,
                          Input input);

// Fills everything of a case but its args; returns what the op's Args must hold.
MatvecArgs fill_matvec_case(Type type, const MatvecShape& shape, Random& random, Input input,
                            CaseMemory& memory, std::vector<DotExpectation>& dots);

// One output per dot product.
template <class Op>
void expect_dots(Case<Op>& made, const std::vector<DotExpectation>& dots) {
    for (const DotExpectation& dot : dots) {
        made.expected.push_back(dot.value);
        made.bound.push_back(dot.bound);
        made.magnitude.push_back(dot.magnitude);
    }
}

// Small shapes that meet every edge: one row, one block, odd counts, groups.
std::vector<MatvecShape> odd_matvec_shapes(Random& random, std::int64_t block);

template <class Op, Type kType>
std::vector<MatvecShape> MatvecOp<Op, kType>::odd_shapes(Random& random) {
    return odd_matvec_shapes(random, block_values(kType));
}

template <class Op, Type kType>
Case<Op> MatvecOp<Op, kType>::make_case(const MatvecShape& shape, Random& random, Input input) {
    Case<Op> made;
    std::vector<DotExpectation> dots;
    made.args = fill_matvec_case(kType, shape, random, input, made.memory, dots);
    expect_dots(made, dots);
    made.weights.push_back(whole_matrix(kType, shape.groups * shape.rows, shape.cols, made.args.w));
    return made;
}

template <class Op, Type kType>
double MatvecOp<Op, kType>::worst_error(const Case<Op>& test_case) {
    return worst_ratio(test_case.args.y, test_case.expected, test_case.bound);
}

}  // namespace steady
