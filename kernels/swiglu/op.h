// The gated activation between the halves of a feed-forward.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "kernels/registry/activation.h"
#include "kernels/registry/registry.h"

namespace steady {

struct SwigluShape {
    std::int64_t n = 0;
    static std::array<ShapeField<SwigluShape>, 1> fields() { return {{{"n", &SwigluShape::n}}}; }
    std::string problem() const { return n > 0 ? "" : "n is required"; }
};

struct Swiglu {
    static constexpr const char* name = "swiglu";
    static constexpr int phases = 1;
    using Shape = SwigluShape;
    struct Args {
        Shape shape;
        const float* gate = nullptr;  // [n]
        const float* up = nullptr;    // [n]
        float* h = nullptr;           // [n]; may be the same memory as gate
    };
    using Run = void (*)(const Args&, Range) noexcept;

    // Row i: h[i] = gate[i] / (1 + e^−gate[i]) · up[i]
    static std::int64_t rows(const Shape& shape, int /*phase*/) { return shape.n; }
    static Cost cost(const Shape& shape) {
        return {.other_bytes = 12 * shape.n, .flops = 20.0 * static_cast<double>(shape.n)};
    }
    static std::vector<Shape> model_shapes();
    static std::vector<Shape> odd_shapes(Random& random);
    static Case<Swiglu> make_case(const Shape& shape, Random& random, Input input);
    static double worst_error(const Case<Swiglu>& test_case);
};

}  // namespace steady
