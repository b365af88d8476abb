// Brings a vector into the q16 form: the q8 form, and per value a second byte that counts what q8
// rounded away in steps of a 256th.
#pragma once

#include "kernels/quantize_q8/op.h"

namespace steady {

struct QuantizeQ16 {
    static constexpr const char* name = "quantize_q16";
    static constexpr int phases = 1;
    using Shape = QuantizeShape;
    struct Args {
        Shape shape;
        const float* x = nullptr;       // [n]
        std::int8_t* q8 = nullptr;      // [n]
        float* scale = nullptr;         // [n / 32]
        std::int8_t* low = nullptr;     // [n]
        std::int32_t* sum16 = nullptr;  // [n / 32]
    };
    using Run = void (*)(const Args&, Range) noexcept;

    // Row b: scale and q8 as op quantize_q8; low = round(256 · (x / scale − q8)), at most 127;
    // sum16 = Σ 256·q8 + low.
    static std::int64_t rows(const Shape& shape, int /*phase*/) { return shape.n / 32; }
    static Cost cost(const Shape& shape) {
        return {.other_bytes = shape.n * 5 + shape.n / 32 * 8,
                .flops = 4.0 * static_cast<double>(shape.n)};
    }
    static std::vector<Shape> model_shapes();
    static std::vector<Shape> odd_shapes(Random& random);
    static Case<QuantizeQ16> make_case(const Shape& shape, Random& random, Input input);
    static double worst_error(const Case<QuantizeQ16>& test_case);
};

}  // namespace steady
