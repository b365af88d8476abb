// Cases of the experts op. The two phases are judged one after the other: what phase 0 left in
// `hidden` against the formula, then y against the formula applied to what phase 0 left, so that
// the rounding of the q8 form between them does not blur the bound of the second.
#include "kernels/q4_0_experts/op.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/matrix/matvec_case.h"

namespace steady {
namespace {

// silu(g)·u and how far off it may be when g and u are off by their bounds. |silu'| stays
// below 1.1.
DotExpectation silu_product(const DotExpectation& gate, const DotExpectation& up) {
    const double silu = gate.value / (1 + std::exp(-gate.value));
    const double silu_bound = 1.1 * gate.bound + 10 * kUnit * std::fabs(silu);
    const double bound = silu_bound * (std::fabs(up.value) + up.bound) +
                         std::fabs(silu) * up.bound + 2 * kUnit * std::fabs(silu * up.value) +
                         static_cast<double>(std::numeric_limits<float>::min());
    return {.value = silu * up.value, .bound = bound};
}

double over(double error, double bound) {
    if (error == 0) return 0;
    return error <= std::numeric_limits<double>::max() && bound > 0 ? error / bound : INFINITY;
}

double worst_hidden_f32(const Case<Q4_0Experts>& made) {
    return worst_ratio(made.args.hidden, made.expected, made.bound);
}

// Half a step of the block's scale may be lost, or a 256th of it with a second byte (a half rounded
// up saturates), the scale being the right one.
double worst_hidden_quantised(const Case<Q4_0Experts>& made) {
    const bool two_bytes = made.input == Input::q16;
    const double step = two_bytes ? 1.01 / 256 : 0.5001;
    double worst = 0;
    for (std::size_t b = 0; b < made.expected.size() / 32; ++b) {
        const double scale = static_cast<double>(made.args.hidden_scale[b]);
        double largest = 0;
        double slack = 0;
        std::int32_t sum = 0;
        for (std::size_t i = b * 32; i < b * 32 + 32; ++i) {
            const int low = two_bytes ? made.args.hidden_low[i] : 0;
            const double value = (made.args.hidden_q8[i] + low / 256.0) * scale;
            const double error = std::fabs(value - made.expected[i]);
            worst = std::max(worst, over(error, made.bound[i] * 2 + step * scale));
            largest = std::max(largest, std::fabs(made.expected[i]));
            slack = std::max(slack, made.bound[i]);
            sum += two_bytes ? 256 * made.args.hidden_q8[i] + low : made.args.hidden_q8[i];
        }
        const double scale_bound = (slack + 4 * kUnit * largest) / 127;
        worst = std::max(worst, over(std::fabs(scale - largest / 127), scale_bound));
        if (sum != made.args.hidden_sum[b]) return INFINITY;
    }
    return worst;
}

double worst_down(const Case<Q4_0Experts>& made) {
    const Q4_0Experts::Args& args = made.args;
    const ExpertsShape& shape = args.shape;
    const Activation hidden{args.hidden,     args.hidden_q8,  args.hidden_scale,
                            args.hidden_sum, args.hidden_low, args.hidden_sum};
    const std::vector<double> values = values_of(hidden, shape.n_used * shape.hidden, made.input);
    const std::int64_t stride = row_bytes(Type::q4_0, shape.hidden);
    double worst = 0;
    for (std::int64_t c = 0; c < shape.cols; ++c) {
        double expected = 0;
        double bound = 0;
        for (std::int64_t e = 0; e < shape.n_used; ++e) {
            const std::byte* row = made.weights[2].data + (args.ids[e] * shape.cols + c) * stride;
            const DotExpectation dot = expect_dot(Type::q4_0, row, values.data() + e * shape.hidden,
                                                  shape.hidden, made.input);
            const double weight = static_cast<double>(args.weights[e]);
            expected += weight * dot.value;
            // The chain of the expert's dot grows by the weight and one addition per expert.
            bound += std::fabs(weight) * dot.bound * (1 + static_cast<double>(shape.n_used) / 8);
        }
        worst = std::max(worst, over(std::fabs(static_cast<double>(args.y[c]) - expected), bound));
    }
    return worst;
}

// Different ids, in no order.
void choose_ids(Random& random, const ExpertsShape& shape, std::int32_t* ids) {
    for (std::int64_t e = 0; e < shape.n_used; ++e) {
        do {
            ids[e] = static_cast<std::int32_t>(random.integer(0, shape.n_experts - 1));
        } while (std::find(ids, ids + e, ids[e]) != ids + e);
    }
}

// Only the chosen experts' rows are filled and used: the others stay untouched pages.
WeightRef add_experts(Case<Q4_0Experts>& made, Random& random, std::int64_t rows,
                      std::int64_t cols) {
    const ExpertsShape& shape = made.args.shape;
    const std::int64_t stride = row_bytes(Type::q4_0, cols);
    auto* data = made.memory.add<std::byte>(Role::weights, shape.n_experts * rows * stride);
    WeightRef weight = whole_matrix(Type::q4_0, shape.n_experts * rows, cols, data);
    weight.used.clear();
    for (std::int64_t e = 0; e < shape.n_used; ++e) {
        const std::int64_t first = made.args.ids[e] * rows;
        fill_weights(Type::q4_0, random, rows, cols, data + first * stride);
        weight.used.push_back({first, first + rows, 0});
    }
    return weight;
}

void expect_hidden(Case<Q4_0Experts>& made, Input input) {
    const Q4_0Experts::Args& args = made.args;
    const ExpertsShape& shape = args.shape;
    const std::vector<double> x = values_of(args.x, shape.cols, input);
    const std::int64_t stride = row_bytes(Type::q4_0, shape.cols);
    for (std::int64_t r = 0; r < shape.n_used * shape.hidden; ++r) {
        const std::int64_t row = args.ids[r / shape.hidden] * shape.hidden + r % shape.hidden;
        const auto dot = [&](const std::byte* w) {
            return expect_dot(Type::q4_0, w + row * stride, x.data(), shape.cols, input);
        };
        const DotExpectation h = silu_product(dot(args.gate), dot(args.up));
        made.expected.push_back(h.value);
        made.bound.push_back(h.bound);
    }
}

}  // namespace

std::vector<Q4_0Experts::Shape> Q4_0Experts::model_shapes() {
    return {{64, 4, 2048, 1536},   // GLM-4.7-Flash
            {64, 6, 2048, 1408}};  // DeepSeek-V2-Lite
}

Q4_0Experts::Shape Q4_0Experts::to_check(Shape shape) {
    shape.n_experts = std::min<std::int64_t>(shape.n_experts, 12);
    return shape;
}

std::vector<Q4_0Experts::Shape> Q4_0Experts::odd_shapes(Random& random) {
    return {{1, 1, 32, 32},
            {3, 2, 96, 160},
            {8, 3, 64, 32},
            {5, 5, 256, 96},
            {random.integer(6, 9), random.integer(1, 6), 32 * random.integer(1, 9),
             32 * random.integer(1, 9)}};
}

Case<Q4_0Experts> Q4_0Experts::make_case(const Shape& shape, Random& random, Input input) {
    Case<Q4_0Experts> made;
    made.args.shape = shape;
    auto* ids = made.memory.add<std::int32_t>(Role::input, shape.n_used);
    choose_ids(random, shape, ids);
    made.args.ids = ids;
    auto* weights = made.memory.add<float>(Role::input, shape.n_used);
    for (std::int64_t e = 0; e < shape.n_used; ++e) weights[e] = random.uniform(0.05F, 1.0F);
    made.args.weights = weights;
    made.weights.push_back(add_experts(made, random, shape.hidden, shape.cols));
    made.weights.push_back(add_experts(made, random, shape.hidden, shape.cols));
    made.weights.push_back(add_experts(made, random, shape.cols, shape.hidden));
    made.args.gate = made.weights[0].data;
    made.args.up = made.weights[1].data;
    made.args.down = made.weights[2].data;
    made.args.x = add_activation(made.memory, random, shape.cols);
    const std::int64_t n_hidden = shape.n_used * shape.hidden;
    made.args.hidden = made.memory.add<float>(Role::scratch, n_hidden);
    made.args.hidden_q8 = made.memory.add<std::int8_t>(Role::scratch, n_hidden);
    made.args.hidden_scale = made.memory.add<float>(Role::scratch, n_hidden / 32);
    made.args.hidden_sum = made.memory.add<std::int32_t>(Role::scratch, n_hidden / 32);
    made.args.hidden_low = made.memory.add<std::int8_t>(Role::scratch, n_hidden);
    made.args.y = made.memory.add<float>(Role::output, shape.cols);
    expect_hidden(made, input);
    return made;
}

double Q4_0Experts::worst_error(const Case<Q4_0Experts>& test_case) {
    const double hidden = test_case.input == Input::f32 ? worst_hidden_f32(test_case)
                                                        : worst_hidden_quantised(test_case);
    return hidden <= 1 ? std::max(hidden, worst_down(test_case)) : hidden;
}

static const RegisteredOp<Q4_0Experts> q4_0_experts_op;

}  // namespace steady
