// What the matrix-times-vector ops have in common: one shape, one argument list, one meaning. Each
// weight type is an op of its own (q4_0_matvec, q5_k_matvec, …), because each is decided on its
// own.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "kernels/matrix/matrix_op.h"
#include "kernels/registry/activation.h"

namespace steady {

// `groups` matrices of rows × cols, each with its own x: one for an ordinary matrix, one per head
// for attn_k_b and attn_v_b.
struct MatvecShape {
    std::int64_t groups = 1;
    std::int64_t rows = 0;
    std::int64_t cols = 0;
    static std::array<ShapeField<MatvecShape>, 3> fields() {
        return {{{"groups", &MatvecShape::groups},
                 {"rows", &MatvecShape::rows},
                 {"cols", &MatvecShape::cols}}};
    }
    std::string problem() const { return rows > 0 && cols > 0 ? "" : "rows and cols are required"; }
};

struct MatvecArgs {
    MatvecShape shape;
    const std::byte* w = nullptr;  // [groups * rows][cols], in the variant's layout
    Activation x;                  // [groups][cols]
    float* y = nullptr;            // [groups * rows]
};

// The dot product of one row in GGUF layout with x, exact weights, summed in double.
double plain_dot(Type type, const std::byte* row, const float* x, std::int64_t cols) noexcept;

// Body of every matvec reference: rows [begin, end) of groups * rows.
void plain_matvec(Type type, const MatvecArgs& args, Range range) noexcept;

// An op says its name and which shapes the models have (model_shapes: benchmarked):
// y[r] = Σ_c w[r][c] · x[r / rows][c]
template <class Op, Type kType>
struct MatvecOp : MatrixOp<kType, MatvecShape, MatvecArgs> {
    static Cost cost(const MatvecShape& shape) {
        const std::int64_t n_rows = shape.groups * shape.rows;
        return {.weight_bytes = n_rows * row_bytes(kType, shape.cols),
                .other_bytes = 4 * (n_rows + shape.groups * shape.cols),
                .flops = 2.0 * static_cast<double>(n_rows * shape.cols)};
    }
    // Defined in kernels/matrix/matvec_case.h.
    static std::vector<MatvecShape> odd_shapes(Random& random);  // legal and awkward
    static Case<Op> make_case(const MatvecShape& shape, Random& random, Input input);
    static double worst_error(const Case<Op>& test_case);
};

}  // namespace steady
