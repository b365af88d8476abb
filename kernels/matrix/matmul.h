// What the matrix-times-several-vectors ops have in common: the matvec of the same weight type for
// a whole batch, so that a prompt reads each weight once per batch. Groups with a list of vectors
// each cover a plain matrix (one group), attention's matrices (one per head) and routed experts
// (each with the tokens that chose it) in one meaning.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "kernels/matrix/matrix_op.h"
#include "kernels/registry/activation.h"

namespace steady {

struct MatmulShape {
    std::int64_t groups = 1;
    std::int64_t rows = 0;  // per group
    std::int64_t cols = 0;
    std::int64_t vectors = 1;  // of all groups together
    static std::array<ShapeField<MatmulShape>, 4> fields() {
        return {{{"groups", &MatmulShape::groups},
                 {"rows", &MatmulShape::rows},
                 {"cols", &MatmulShape::cols},
                 {"vectors", &MatmulShape::vectors}}};
    }
    std::string problem() const { return rows > 0 && cols > 0 ? "" : "rows and cols are required"; }
};

struct MatmulArgs {
    MatmulShape shape;
    const std::byte* w = nullptr;         // [groups * rows][cols], in the variant's layout
    const std::int32_t* first = nullptr;  // [groups + 1]: group g has vectors first[g] … first[g+1]
    const std::int32_t* x_row = nullptr;  // [vectors]: which row of x
    const std::int32_t* y_row = nullptr;  // [vectors]: which row of y; a permutation
    Activation x;                         // [largest x_row + 1][cols]
    float* y = nullptr;                   // [vectors][rows]
};

// Body of every matmul reference.
void plain_matmul(Type type, const MatmulArgs& args, Range range) noexcept;

// Shapes of a prompt's batch of 32, with the models' widths, and awkward ones.
std::vector<MatmulShape> model_matmul_shapes();
std::vector<MatmulShape> odd_matmul_shapes(Random& random, std::int64_t block);

// An op is all that is said here, its name apart:
// y[y_row[v]][r] = Σ_c w[g][r][c] · x[x_row[v]][c] for each v of each group g
template <class Op, Type kType>
struct MatmulOp : MatrixOp<kType, MatmulShape, MatmulArgs> {
    static Cost cost(const MatmulShape& shape) {
        return {.weight_bytes = shape.groups * shape.rows * row_bytes(kType, shape.cols),
                .other_bytes = 4 * shape.vectors * (shape.rows + shape.cols),
                .flops = 2.0 * static_cast<double>(shape.vectors * shape.rows * shape.cols)};
    }
    static std::vector<MatmulShape> model_shapes() { return model_matmul_shapes(); }
    static std::vector<MatmulShape> odd_shapes(Random& random) {
        return odd_matmul_shapes(random, block_values(kType));
    }
    // Defined in kernels/matrix/matmul_case.h.
    static Case<Op> make_case(const MatmulShape& shape, Random& random, Input input);
    static double worst_error(const Case<Op>& test_case);
};

}  // namespace steady
