// Cases of the gated activation: ten units for exponential, sum, quotient and products; results
// below the smallest normal float may be zero.
#include "kernels/swiglu/op.h"

#include <cmath>
#include <limits>

#include "kernels/cases/op_info.h"

namespace steady {

std::vector<Swiglu::Shape> Swiglu::model_shapes() {
    return {{1408}, {1536}, {2816}, {6144}, {10240}, {10944}};
}

std::vector<Swiglu::Shape> Swiglu::odd_shapes(Random& random) {
    return {{1}, {15}, {33}, {random.integer(1, 3000)}};
}

Case<Swiglu> Swiglu::make_case(const Shape& shape, Random& random, Input /*input*/) {
    Case<Swiglu> made;
    auto* gate = made.memory.add<float>(Role::input, shape.n);
    auto* up = made.memory.add<float>(Role::input, shape.n);
    fill_activations(random, up, shape.n);
    for (std::int64_t i = 0; i < shape.n; ++i) {
        const float width = i % 7 == 0 ? 120.0F : 8.0F;  // far tails now and then
        gate[i] = random.uniform(-width, width);
    }
    made.args = {shape, gate, up, made.memory.add<float>(Role::output, shape.n)};
    const double smallest = static_cast<double>(std::numeric_limits<float>::min());
    for (std::int64_t i = 0; i < shape.n; ++i) {
        const double g = static_cast<double>(gate[i]);
        const double u = static_cast<double>(up[i]);
        const double h = g / (1 + std::exp(-g)) * u;
        made.expected.push_back(h);
        made.bound.push_back(10 * kUnit * std::fabs(h) + smallest * (1 + std::fabs(u)));
    }
    return made;
}

double Swiglu::worst_error(const Case<Swiglu>& test_case) {
    return worst_ratio(test_case.args.h, test_case.expected, test_case.bound);
}

static const RegisteredOp<Swiglu> swiglu_op;

}  // namespace steady
