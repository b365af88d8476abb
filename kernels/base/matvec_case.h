// Cases of the matrix-vector ops: one generator for all weight types, and the error bound they
// share.
#pragma once

#include "kernels/base/matvec.h"
#include "kernels/base/op_info.h"

namespace steady {

// What dot products of `cols` weights with x come to, in double, and how far a correct float
// implementation may be from it (see matvec_case.cpp for the derivation).
struct DotExpectation {
    double value = 0;
    double bound = 0;
};
DotExpectation expect_dot(Type type, const std::byte* row, const double* x, std::int64_t cols,
                          Input input);

// Fills everything of a case but its args; returns what the op's Args must hold.
MatvecArgs fill_matvec_case(Type type, const MatvecShape& shape, Random& random, Input input,
                            CaseMemory& memory, std::vector<double>& expected,
                            std::vector<double>& bound);

// All rows of a weight matrix are used.
WeightRef whole_matrix(Type type, std::int64_t rows, std::int64_t cols, const std::byte* data);

template <class Op>
Case<Op> make_matvec_case(const MatvecShape& shape, Random& random, Input input) {
    Case<Op> made;
    made.args =
        fill_matvec_case(Op::type, shape, random, input, made.memory, made.expected, made.bound);
    made.weights.push_back(
        whole_matrix(Op::type, shape.groups * shape.rows, shape.cols, made.args.w));
    return made;
}

// Small shapes that meet every edge: one row, one block, odd counts, groups.
std::vector<MatvecShape> odd_matvec_shapes(Random& random, std::int64_t block);

}  // namespace steady
