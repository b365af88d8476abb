// Root-mean-square normalisation of one vector, whose result is brought into the q8 form on the
// way: rms_norm and quantize_q8 in one pass.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "kernels/quantize_q8/op.h"
#include "kernels/registry/activation.h"
#include "kernels/registry/registry.h"

namespace steady {

struct RmsNormQ8 {
    static constexpr const char* name = "rms_norm_q8";
    static constexpr int phases = 1;
    using Shape = QuantizeShape;  // n, a multiple of 32
    struct Args {
        Shape shape;
        const float* x = nullptr;  // [n]; may be the same memory as y
        const float* w = nullptr;  // [n]
        float eps = 0;
        float* y = nullptr;           // [n]
        std::int8_t* q8 = nullptr;    // [n]
        float* scale = nullptr;       // [n / 32]
        std::int32_t* sum = nullptr;  // [n / 32]
    };
    using Run = void (*)(const Args&, Range) noexcept;

    // The single row: y as in rms_norm; q8, scale and sum of y as in quantize_q8.
    static std::int64_t rows(const Shape& /*shape*/, int /*phase*/) { return 1; }
    static Cost cost(const Shape& shape) {
        return {.other_bytes = 13 * shape.n + shape.n / 32 * 8,
                .flops = 8.0 * static_cast<double>(shape.n)};
    }
    static std::vector<Shape> model_shapes();
    static std::vector<Shape> odd_shapes(Random& random);
    static Case<RmsNormQ8> make_case(const Shape& shape, Random& random, Input input);
    static double worst_error(const Case<RmsNormQ8>& test_case);
};

}  // namespace steady
