// Brings a vector into a form that matrix kernels read. q8: int8 values, and per block of 32 a
// scale and the sum of the values. q16 adds a second byte per value, which counts what q8 rounded
// away in steps of a 256th.
#pragma once

#include <array>
#include <string>
#include <type_traits>
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

struct QuantizeQ8Args {
    QuantizeShape shape;
    const float* x = nullptr;     // [n]
    std::int8_t* q8 = nullptr;    // [n]
    float* scale = nullptr;       // [n / 32]
    std::int32_t* sum = nullptr;  // [n / 32]
};

struct QuantizeQ16Args {
    QuantizeShape shape;
    const float* x = nullptr;       // [n]
    std::int8_t* q8 = nullptr;      // [n]
    float* scale = nullptr;         // [n / 32]
    std::int8_t* low = nullptr;     // [n]
    std::int32_t* sum16 = nullptr;  // [n / 32]
};

template <bool kTwoBytes>
struct QuantizeOp {
    static constexpr const char* name = kTwoBytes ? "quantize_q16" : "quantize_q8";
    static constexpr int phases = 1;
    using Shape = QuantizeShape;
    using Args = std::conditional_t<kTwoBytes, QuantizeQ16Args, QuantizeQ8Args>;
    using Run = void (*)(const Args&, Range) noexcept;

    // Row b: scale = max|x| / 127 over block b, q8 = round(x / scale), sum = Σ q8; a block of zeros
    // gives scale 0 and values 0. How exact halves round is left to the variant. With two bytes
    // low = round(256 · (x / scale − q8)), at most 127, and sum16 = Σ 256·q8 + low.
    static std::int64_t rows(const Shape& shape, int /*phase*/) { return shape.n / 32; }
    static Cost cost(const Shape& shape) {
        return {.other_bytes = shape.n * (kTwoBytes ? 6 : 5) + shape.n / 32 * 8,
                .flops = 4.0 * static_cast<double>(shape.n)};
    }
    static std::vector<Shape> model_shapes();
    static std::vector<Shape> odd_shapes(Random& random);
    static Case<QuantizeOp> make_case(const Shape& shape, Random& random, Input input);
    static double worst_error(const Case<QuantizeOp>& test_case);
};
using QuantizeQ8 = QuantizeOp<false>;

}  // namespace steady
