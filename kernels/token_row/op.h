// The rows of a table that tokens name: the embedding, with the tokens read where the pass finds
// them, so that a recorded pass serves every token.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "kernels/matrix/any_matrix.h"
#include "kernels/registry/activation.h"
#include "kernels/registry/registry.h"

namespace steady {

struct TokenRowShape {
    Type type = Type::f32;
    std::int64_t rows = 0;
    std::int64_t cols = 0;  // a multiple of the type's block
    std::int64_t n = 1;     // tokens
    static std::array<ShapeField<TokenRowShape>, 4> fields() {
        return {{{"type", nullptr, &TokenRowShape::type},
                 {"rows", &TokenRowShape::rows},
                 {"cols", &TokenRowShape::cols},
                 {"n", &TokenRowShape::n}}};
    }
    std::string problem() const {
        return rows > 0 && cols > 0 && cols % block_values(type) == 0 && n > 0
                   ? ""
                   : "rows, cols and n are required, cols a multiple of the type's block";
    }
};

struct TokenRow {
    static constexpr const char* name = "token_row";
    static constexpr int phases = 1;
    using Shape = TokenRowShape;
    struct Args {
        Shape shape;
        const std::byte* table = nullptr;     // [rows][cols], in the variant's layout
        const std::int32_t* token = nullptr;  // [n], each in [0, rows)
        float* y = nullptr;                   // [n][cols]
    };
    using Run = void (*)(const Args&, Range) noexcept;

    static void set_weight(Args& args, std::size_t /*index*/, const std::byte* w) {
        args.table = w;
    }

    // Row t: y[t] = the values of table[token[t]]; every variant gives the same bits but for the
    // rounding of a product and a difference.
    static std::int64_t rows(const Shape& shape, int /*phase*/) { return shape.n; }
    static Cost cost(const Shape& shape) {
        return {.weight_bytes = shape.n * row_bytes(shape.type, shape.cols),
                .other_bytes = 4 * shape.n * shape.cols,
                .flops = static_cast<double>(shape.n * shape.cols)};
    }
    static std::vector<Shape> model_shapes();
    static std::vector<Shape> odd_shapes(Random& random);
    static Case<TokenRow> make_case(const Shape& shape, Random& random, Input input);
    static double worst_error(const Case<TokenRow>& test_case);
};

}  // namespace steady
