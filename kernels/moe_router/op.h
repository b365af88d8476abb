// Chooses the experts of a token and their weights.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "kernels/registry/activation.h"
#include "kernels/registry/registry.h"

namespace steady {

struct MoeRouterShape {
    std::int64_t n_experts = 0;
    std::int64_t n_used = 0;
    static std::array<ShapeField<MoeRouterShape>, 2> fields() {
        return {{{"n_experts", &MoeRouterShape::n_experts}, {"n_used", &MoeRouterShape::n_used}}};
    }
    std::string problem() const {
        return n_used > 0 && n_used <= n_experts ? "" : "n_used must be in 1 … n_experts";
    }
};

enum class Gating { softmax, sigmoid };

struct MoeRouter {
    static constexpr const char* name = "moe_router";
    static constexpr int phases = 1;
    using Shape = MoeRouterShape;
    // The sum of chosen weights is never divided by less than this.
    static constexpr float kSmallestSum = 6.103515625e-5F;
    struct Args {
        Shape shape;
        const float* logits = nullptr;  // [n_experts]
        const float* bias = nullptr;    // [n_experts] or null: added for the choice only
        Gating gating = Gating::softmax;
        bool normalise = false;       // divide the chosen weights by their sum
        float scale = 1;              // multiplies the weights; 0 counts as 1
        std::int32_t* ids = nullptr;  // [n_used]
        float* weights = nullptr;     // [n_used]
    };
    using Run = void (*)(const Args&, Range) noexcept;

    // The single row: probs = sigmoid(logits), or softmax over all experts. The n_used largest
    // probs + bias are chosen, largest first, ties to the lower id; their weights are the unbiased
    // probs, divided by max(Σ, kSmallestSum) when `normalise`, then times scale.
    static std::int64_t rows(const Shape& /*shape*/, int /*phase*/) { return 1; }
    static Cost cost(const Shape& shape) {
        return {.other_bytes = 8 * shape.n_experts + 8 * shape.n_used,
                .flops = static_cast<double>(shape.n_experts * (20 + shape.n_used))};
    }
    static std::vector<Shape> model_shapes();
    static std::vector<Shape> odd_shapes(Random& random);
    static Case<MoeRouter> make_case(const Shape& shape, Random& random, Input input);
    static double worst_error(const Case<MoeRouter>& test_case);
};

}  // namespace steady
