// Products of several matrices with one vector, which is prepared on the way: normed, or the gated
// activation of a feed-forward. It joins what otherwise is a norm, a quantisation, a launch per
// matrix and an addition to the residual, because on a GPU each of them would be a phase of its
// own.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "kernels/matrix/any_matrix.h"
#include "kernels/registry/activation.h"
#include "kernels/registry/registry.h"

namespace steady {

struct ProductsShape {
    Type type = Type::q4_0;     // of all matrices
    std::int64_t rows = 0;      // of all matrices together
    std::int64_t cols = 0;      // a multiple of the type's block
    std::int64_t matrices = 1;  // 1 … 3, of equal rows
    std::int64_t input = 1;     // 1 as it is, 2 normed, 3 gated
    std::int64_t residual = 1;  // 1 written, 2 added to a residual
    static std::array<ShapeField<ProductsShape>, 6> fields() {
        return {{{"type", nullptr, &ProductsShape::type},
                 {"rows", &ProductsShape::rows},
                 {"cols", &ProductsShape::cols},
                 {"matrices", &ProductsShape::matrices},
                 {"input", &ProductsShape::input},
                 {"residual", &ProductsShape::residual}}};
    }
    std::string problem() const {
        if (matrices < 1 || matrices > 3 || rows % matrices != 0) {
            return "matrices must be 1 … 3 and divide rows";
        }
        if (input < 1 || input > 3) return "input must be 1 (plain), 2 (normed) or 3 (gated)";
        if (residual < 1 || residual > 2) return "residual must be 1 (none) or 2";
        return rows > 0 && cols > 0 && cols % block_values(type) == 0
                   ? ""
                   : "rows and cols are required, cols a multiple of the type's block";
    }
};

struct Products {
    static constexpr const char* name = "products";
    static constexpr int phases = 1;
    static constexpr int kMost = 3;  // matrices
    using Shape = ProductsShape;
    struct Args {
        Shape shape;
        std::array<AnyMatrix, kMost> m;    // absent from shape.matrices on
        std::array<float*, kMost> y = {};  // each [m.rows]
        const float* x = nullptr;          // [cols]; gated: the gate
        const float* up = nullptr;         // [cols]: gated
        const float* norm = nullptr;       // [cols]: normed
        float eps = 0;
        const float* residual = nullptr;  // [m[0].rows], may be y[0]
    };
    using Run = void (*)(const Args&, Range) noexcept;

    static void set_weight(Args& args, std::size_t index, const std::byte* w) {
        args.m[index].w = w;
    }

    // v = x, or x / sqrt(mean(x²) + eps) · norm, or x / (1 + e^−x) · up. Row r, counted over the
    // matrices: y[r] = (residual[r] +) Σ_c w[r][c] · v[c]
    static std::int64_t rows(const Shape& shape, int /*phase*/) { return shape.rows; }
    static Cost cost(const Shape& shape) {
        return {.weight_bytes = shape.rows * row_bytes(shape.type, shape.cols),
                .other_bytes = 4 * (shape.rows + 2 * shape.cols),
                .flops = 2.0 * static_cast<double>(shape.rows * shape.cols)};
    }
    static std::vector<Shape> model_shapes();
    static std::vector<Shape> odd_shapes(Random& random);
    static Case<Products> make_case(const Shape& shape, Random& random, Input input);
    static double worst_error(const Case<Products>& test_case);
};

// v of the op, in double; the body of every reference that norms or gates.
std::vector<double> plain_normed(const float* x, const float* norm, float eps, std::int64_t n);
std::vector<double> plain_gated(const float* gate, const float* up, std::int64_t n);
// Σ_c row[c] · v[c] with the exact weights.
double plain_dot(Type type, const std::byte* row, const double* v, std::int64_t cols);

}  // namespace steady
