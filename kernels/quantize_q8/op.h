// Brings a vector into the q8 form that matrix kernels read: int8 values, and per block of 32 a
// scale and the sum of the values.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "kernels/registry/activation.h"
#include "kernels/registry/registry.h"

namespace steady {

struct QuantizeShape {
    std::int64_t n = 0;  // a multiple of 32
    static std::array<ShapeField<QuantizeShape>, 1> fields() {
        return {{{"n", &QuantizeShape::n}}};
    }
    std::string problem() const { return n > 0 && n % 32 == 0 ? "" : "n must be a multiple of 32"; }
};

inline std::vector<QuantizeShape> quantize_shapes(const std::vector<std::int64_t>& lengths) {
    std::vector<QuantizeShape> shapes;
    shapes.reserve(lengths.size());
    for (const std::int64_t n : lengths) shapes.push_back({n});
    return shapes;
}

struct QuantizeQ8 {
    static constexpr const char* name = "quantize_q8";
    static constexpr int phases = 1;
    using Shape = QuantizeShape;
    struct Args {
        Shape shape;
        const float* x = nullptr;     // [n]
        std::int8_t* q8 = nullptr;    // [n]
        float* scale = nullptr;       // [n / 32]
        std::int32_t* sum = nullptr;  // [n / 32]
    };
    using Run = void (*)(const Args&, Range) noexcept;

    // Row b: scale = max|x| / 127 over block b, q8 = round(x / scale), sum = Σ q8; a block of zeros
    // gives scale 0 and values 0. How exact halves round is left to the variant.
    static std::int64_t rows(const Shape& shape, int /*phase*/) { return shape.n / 32; }
    static Cost cost(const Shape& shape) {
        return {.other_bytes = shape.n * 5 + shape.n / 32 * 8,
                .flops = 4.0 * static_cast<double>(shape.n)};
    }
    static std::vector<Shape> model_shapes();
    static std::vector<Shape> odd_shapes(Random& random);
    static Case<QuantizeQ8> make_case(const Shape& shape, Random& random, Input input);
    static double worst_error(const Case<QuantizeQ8>& test_case);
};

}  // namespace steady
