// One row of a matrix of any type as floats: the embedding of a token.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "kernels/registry/activation.h"
#include "kernels/registry/registry.h"

namespace steady {

struct DequantizeShape {
    Type type = Type::f32;
    std::int64_t n = 0;  // a multiple of the type's block
    static std::array<ShapeField<DequantizeShape>, 2> fields() {
        return {{{"type", nullptr, &DequantizeShape::type}, {"n", &DequantizeShape::n}}};
    }
    std::string problem() const {
        return n > 0 && n % block_values(type) == 0 ? ""
                                                    : "n must be a multiple of the type's block";
    }
};

struct DequantizeRow {
    static constexpr const char* name = "dequantize_row";
    static constexpr int phases = 1;
    using Shape = DequantizeShape;
    struct Args {
        Shape shape;
        const std::byte* row = nullptr;  // n values of shape.type, GGUF layout
        float* y = nullptr;              // [n]
    };
    using Run = void (*)(const Args&, Range) noexcept;

    static void set_weight(Args& args, std::size_t /*index*/, const std::byte* w) { args.row = w; }

    // Row b is block b; every variant gives the same bits.
    static std::int64_t rows(const Shape& shape, int /*phase*/) {
        return shape.n / block_values(shape.type);
    }
    static Cost cost(const Shape& shape) {
        return {.weight_bytes = row_bytes(shape.type, shape.n),
                .other_bytes = 4 * shape.n,
                .flops = static_cast<double>(shape.n)};
    }
    static std::vector<Shape> model_shapes();
    static std::vector<Shape> odd_shapes(Random& random);
    static Case<DequantizeRow> make_case(const Shape& shape, Random& random, Input input);
    static double worst_error(const Case<DequantizeRow>& test_case);
};

}  // namespace steady
