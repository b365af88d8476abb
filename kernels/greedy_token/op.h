// The token that greedy decoding takes, chosen where the logits lie: a GPU's next pass finds it
// there, and the host is told.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "kernels/registry/activation.h"
#include "kernels/registry/registry.h"

namespace steady {

struct GreedyTokenShape {
    std::int64_t n = 0;  // tokens of the vocabulary
    static std::array<ShapeField<GreedyTokenShape>, 1> fields() {
        return {{{"n", &GreedyTokenShape::n}}};
    }
    std::string problem() const { return n > 0 ? "" : "n is required"; }
};

struct GreedyToken {
    static constexpr const char* name = "greedy_token";
    static constexpr int phases = 1;
    using Shape = GreedyTokenShape;
    struct Args {
        Shape shape;
        const float* logits = nullptr;  // [n]
        std::int32_t* now = nullptr;    // [2]: token and position of a pass, then of the next one
        std::int32_t* told = nullptr;   // [1], of the host where a GPU can write it
    };
    using Run = void (*)(const Args&, Range) noexcept;

    // now[0] = told[0] = the number of the largest logit; of equal ones the lowest; NaN is passed
    // over, and where nothing else is there it is kNone. now[1] grows by one.
    static constexpr std::int32_t kNone = -1;
    static std::int64_t rows(const Shape& /*shape*/, int /*phase*/) { return 1; }
    static Cost cost(const Shape& shape) {
        return {.other_bytes = 4 * shape.n, .flops = static_cast<double>(shape.n)};
    }
    static std::vector<Shape> model_shapes();
    static std::vector<Shape> odd_shapes(Random& random);
    static Case<GreedyToken> make_case(const Shape& shape, Random& random, Input input);
    static double worst_error(const Case<GreedyToken>& test_case);
};

}  // namespace steady
