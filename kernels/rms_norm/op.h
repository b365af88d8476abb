// Root-mean-square normalisation of one vector.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "kernels/registry/activation.h"
#include "kernels/registry/registry.h"

namespace steady {

struct RmsNormShape {
    std::int64_t n = 0;
    static std::array<ShapeField<RmsNormShape>, 1> fields() { return {{{"n", &RmsNormShape::n}}}; }
    std::string problem() const { return n > 0 ? "" : "n is required"; }
};

struct RmsNorm {
    static constexpr const char* name = "rms_norm";
    static constexpr int phases = 1;
    using Shape = RmsNormShape;
    struct Args {
        Shape shape;
        const float* x = nullptr;  // [n]; may be the same memory as y
        const float* w = nullptr;  // [n]
        float eps = 0;
        float* y = nullptr;  // [n]
    };
    using Run = void (*)(const Args&, Range) noexcept;

    // The single row: y[i] = x[i] / sqrt(mean(x²) + eps) · w[i]
    static std::int64_t rows(const Shape& /*shape*/, int /*phase*/) { return 1; }
    static Cost cost(const Shape& shape) {
        return {.other_bytes = 12 * shape.n, .flops = 4.0 * static_cast<double>(shape.n)};
    }
    static std::vector<Shape> model_shapes();
    static std::vector<Shape> odd_shapes(Random& random);
    static Case<RmsNorm> make_case(const Shape& shape, Random& random, Input input);
    static double worst_error(const Case<RmsNorm>& test_case);
};

// Body of every reference: two plain passes, the sum of squares in double.
void plain_rms_norm(const RmsNorm::Args& args) noexcept;

}  // namespace steady
