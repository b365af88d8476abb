// Cases of the rotation: three roundings on two products. The floats between heads are part of the
// output and must keep their values, which the comparison of whole buffers sees to.
#include "kernels/rope/op.h"

#include <cmath>

#include "kernels/cases/op_info.h"

namespace steady {

std::vector<Rope::Shape> Rope::model_shapes() { return {{1, 64}, {16, 64}, {20, 64}}; }

std::vector<Rope::Shape> Rope::odd_shapes(Random& random) {
    return {{1, 2}, {3, 6}, {5, 34}, {random.integer(1, 40), 2 * random.integer(1, 40)}};
}

Case<Rope> Rope::make_case(const Shape& shape, Random& random, Input /*input*/) {
    Case<Rope> made;
    const std::int64_t stride = shape.n_rot + random.integer(0, 3) * 64;
    const std::int64_t n = (shape.n_heads - 1) * stride + shape.n_rot;
    auto* x = made.memory.add<float>(Role::in_out, n);
    fill_activations(random, x, n);
    auto* cos = made.memory.add<float>(Role::input, shape.n_rot / 2);
    auto* sin = made.memory.add<float>(Role::input, shape.n_rot / 2);
    for (std::int64_t i = 0; i < shape.n_rot / 2; ++i) {
        const float angle = random.uniform(-3.14F, 3.14F);
        cos[i] = std::cos(angle);
        sin[i] = std::sin(angle);
    }
    made.args = {.shape = shape, .x = x, .stride = stride, .cos = cos, .sin = sin};
    made.expected.assign(x, x + n);
    made.bound.assign(static_cast<std::size_t>(n), 0);
    for (std::int64_t h = 0; h < shape.n_heads; ++h) {
        for (std::int64_t i = 0; i < shape.n_rot / 2; ++i) {
            const auto at = static_cast<std::size_t>(h * stride + 2 * i);
            const double a = made.expected[at];
            const double b = made.expected[at + 1];
            const double c = static_cast<double>(cos[i]);
            const double s = static_cast<double>(sin[i]);
            made.expected[at] = a * c - b * s;
            made.expected[at + 1] = a * s + b * c;
            made.bound[at] = 3 * kUnit * (std::fabs(a * c) + std::fabs(b * s));
            made.bound[at + 1] = 3 * kUnit * (std::fabs(a * s) + std::fabs(b * c));
        }
    }
    return made;
}

double Rope::worst_error(const Case<Rope>& test_case) {
    return worst_ratio(test_case.args.x, test_case.expected, test_case.bound);
}

static const RegisteredOp<Rope> rope_op;

}  // namespace steady
