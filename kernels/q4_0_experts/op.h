// The feed-forward of the chosen experts in one op, weights in Q4_0: gate, up, SwiGLU, down and the
// weighted sum. It joins three matrix products and an activation because, apart, they cost a launch
// and a quantisation each.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "kernels/formats/formats.h"
#include "kernels/registry/activation.h"
#include "kernels/registry/registry.h"

namespace steady {

struct ExpertsShape {
    std::int64_t n_experts = 0;  // stored
    std::int64_t n_used = 0;     // chosen for this token
    std::int64_t cols = 0;       // model width, a multiple of 32
    std::int64_t hidden = 0;     // expert width, a multiple of 32
    static std::array<ShapeField<ExpertsShape>, 4> fields() {
        return {{{"n_experts", &ExpertsShape::n_experts},
                 {"n_used", &ExpertsShape::n_used},
                 {"cols", &ExpertsShape::cols},
                 {"hidden", &ExpertsShape::hidden}}};
    }
    std::string problem() const {
        if (n_used < 1 || n_used > n_experts) return "n_used must be in 1 … n_experts";
        return cols > 0 && hidden > 0 && cols % 32 == 0 && hidden % 32 == 0
                   ? ""
                   : "cols and hidden must be multiples of 32";
    }
};

struct Q4_0Experts {
    static constexpr const char* name = "q4_0_experts";
    static constexpr int phases = 2;
    using Shape = ExpertsShape;
    struct Args {
        Shape shape;
        const std::byte* gate = nullptr;     // [n_experts][hidden][cols], in the variant's layout
        const std::byte* up = nullptr;       // [n_experts][hidden][cols]
        const std::byte* down = nullptr;     // [n_experts][cols][hidden]
        const std::int32_t* ids = nullptr;   // [n_used], each in [0, n_experts)
        const float* weights = nullptr;      // [n_used]
        Activation x;                        // [cols]
        float* hidden = nullptr;             // [n_used][hidden]: scratch between the phases
        std::int8_t* hidden_q8 = nullptr;    // [n_used][hidden]: scratch, q8 variants only
        float* hidden_scale = nullptr;       // [n_used][hidden / 32]
        std::int32_t* hidden_sum = nullptr;  // [n_used][hidden / 32]
        float* y = nullptr;                  // [cols], overwritten
        std::int8_t* hidden_low = nullptr;   // [n_used][hidden]: q16 variants; hidden_sum is then
                                             // of 256 * q8 + low

        // The first phase's result as the activations of the second.
        Activation hidden_activation() const {
            return {hidden, hidden_q8, hidden_scale, hidden_sum, hidden_low, hidden_sum};
        }
        // Of row r of the first phase in gate or up: the chosen expert's.
        std::int64_t expert_row(std::int64_t r) const {
            return ids[r / shape.hidden] * shape.hidden + r % shape.hidden;
        }
    };
    using Run = void (*)(const Args&, Range) noexcept;

    // Weight matrix 0 is gate, 1 up, 2 down.
    static void set_weight(Args& args, std::size_t index, const std::byte* w) {
        (index == 0 ? args.gate : index == 1 ? args.up : args.down) = w;
    }

    // Phase 0, row e·hidden + j: hidden[e][j] = silu(gate_e[j]·x) · (up_e[j]·x), and its q8 form
    //          for variants with q8 or q16 input (their granule is a multiple of 32).
    // Phase 1, row c: y[c] = Σ_e weights[e] · (down_e[c] · hidden[e])
    static std::int64_t rows(const Shape& shape, int phase) {
        return phase == 0 ? shape.n_used * shape.hidden : shape.cols;
    }
    static Cost cost(const Shape& shape) {
        const std::int64_t n_weights = 3 * shape.n_used * shape.hidden * shape.cols;
        return {.weight_bytes = row_bytes(Type::q4_0, n_weights),
                .other_bytes = 8 * shape.cols + 8 * shape.n_used * shape.hidden,
                .flops = 2.0 * static_cast<double>(n_weights)};
    }
    static std::vector<Shape> model_shapes();
    // What is not chosen is packed and compared all the same: twelve experts stand for 64.
    static Shape to_check(Shape shape);
    static std::vector<Shape> odd_shapes(Random& random);
    static Case<Q4_0Experts> make_case(const Shape& shape, Random& random, Input input);
    static double worst_error(const Case<Q4_0Experts>& test_case);
};

}  // namespace steady
