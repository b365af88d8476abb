// Rotary position embedding on interleaved pairs (2i, 2i + 1), in place. The caller makes the
// table of the position's angles once per token.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "kernels/registry/activation.h"
#include "kernels/registry/registry.h"

namespace steady {

struct RopeShape {
    std::int64_t n_heads = 0;
    std::int64_t n_rot = 0;  // even
    static std::array<ShapeField<RopeShape>, 2> fields() {
        return {{{"n_heads", &RopeShape::n_heads}, {"n_rot", &RopeShape::n_rot}}};
    }
    std::string problem() const {
        return n_heads > 0 && n_rot > 0 && n_rot % 2 == 0
                   ? ""
                   : "n_heads and an even n_rot are required";
    }
};

struct Rope {
    static constexpr const char* name = "rope";
    static constexpr int phases = 1;
    using Shape = RopeShape;
    struct Args {
        Shape shape;
        float* x = nullptr;          // head h is x[h * stride .. h * stride + n_rot)
        std::int64_t stride = 0;     // floats from head to head, at least n_rot
        const float* cos = nullptr;  // [n_rot / 2]
        const float* sin = nullptr;  // [n_rot / 2]
    };
    using Run = void (*)(const Args&, Range) noexcept;

    // Row h: (a, b) = (x[2i], x[2i+1]) becomes (a·cos[i] − b·sin[i], a·sin[i] + b·cos[i])
    static std::int64_t rows(const Shape& shape, int /*phase*/) { return shape.n_heads; }
    static Cost cost(const Shape& shape) {
        const std::int64_t n = shape.n_heads * shape.n_rot;
        return {.other_bytes = 8 * n + 4 * shape.n_rot, .flops = 3.0 * static_cast<double>(n)};
    }
    static std::vector<Shape> model_shapes();
    static std::vector<Shape> odd_shapes(Random& random);
    static Case<Rope> make_case(const Shape& shape, Random& random, Input input);
    static double worst_error(const Case<Rope>& test_case);
};

}  // namespace steady
