// Cases of the normalisation. A chain of n / 8 additions of squares, halved by the square root, and
// a few roundings for the mean, the root and the two products.
#include "kernels/rms_norm/op.h"

#include <cmath>

#include "kernels/cases/op_info.h"

namespace steady {

std::vector<RmsNorm::Shape> RmsNorm::model_shapes() { return {{512}, {768}, {1536}, {2048}}; }

std::vector<RmsNorm::Shape> RmsNorm::odd_shapes(Random& random) {
    return {{1}, {7}, {33}, {100}, {random.integer(1, 3000)}};
}

Case<RmsNorm> RmsNorm::make_case(const Shape& shape, Random& random, Input /*input*/) {
    Case<RmsNorm> made;
    auto* x = made.memory.add<float>(Role::input, shape.n);
    auto* w = made.memory.add<float>(Role::input, shape.n);
    fill_activations(random, x, shape.n);
    for (std::int64_t i = 0; i < shape.n; ++i) w[i] = random.uniform(0.1F, 2.0F);
    made.args = {.shape = shape,
                 .x = x,
                 .w = w,
                 .eps = 1e-5F,
                 .y = made.memory.add<float>(Role::output, shape.n)};
    double squares = 0;
    for (std::int64_t i = 0; i < shape.n; ++i) {
        squares += static_cast<double>(x[i]) * static_cast<double>(x[i]);
    }
    const double n = static_cast<double>(shape.n);
    const double root = std::sqrt(squares / n + static_cast<double>(made.args.eps));
    for (std::int64_t i = 0; i < shape.n; ++i) {
        const double y = static_cast<double>(x[i]) * static_cast<double>(w[i]) / root;
        made.expected.push_back(y);
        made.bound.push_back((n / 16 + 8) * kUnit * std::fabs(y));
    }
    return made;
}

double RmsNorm::worst_error(const Case<RmsNorm>& test_case) {
    return worst_ratio(test_case.args.y, test_case.expected, test_case.bound);
}

static const RegisteredOp<RmsNorm> rms_norm_op;

}  // namespace steady
