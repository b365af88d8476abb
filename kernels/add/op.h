// Adds a vector to another, scaled: the residual stream.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "kernels/registry/activation.h"
#include "kernels/registry/registry.h"

namespace steady {

struct AddShape {
    std::int64_t n = 0;
    static std::array<ShapeField<AddShape>, 1> fields() { return {{{"n", &AddShape::n}}}; }
    std::string problem() const { return n > 0 ? "" : "n is required"; }
};

struct Add {
    static constexpr const char* name = "add";
    static constexpr int phases = 1;
    using Shape = AddShape;
    struct Args {
        Shape shape;
        const float* x = nullptr;  // [n]
        float scale = 1;
        float* y = nullptr;  // [n], in place
    };
    using Run = void (*)(const Args&, Range) noexcept;

    // Row i: y[i] += scale · x[i]
    static std::int64_t rows(const Shape& shape, int /*phase*/) { return shape.n; }
    static Cost cost(const Shape& shape) {
        return {.other_bytes = 12 * shape.n, .flops = 2.0 * static_cast<double>(shape.n)};
    }
    static std::vector<Shape> model_shapes();
    static std::vector<Shape> odd_shapes(Random& random);
    static Case<Add> make_case(const Shape& shape, Random& random, Input input);
    static double worst_error(const Case<Add>& test_case);
};

}  // namespace steady
