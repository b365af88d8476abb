// Cases of the sum: one rounding of the product, one of the sum.
#include "kernels/add/op.h"

#include <cmath>

#include "kernels/cases/op_info.h"

namespace steady {

std::vector<Add::Shape> Add::model_shapes() { return {{2048}}; }

std::vector<Add::Shape> Add::odd_shapes(Random& random) {
    return {{1}, {17}, {100}, {random.integer(1, 3000)}};
}

Case<Add> Add::make_case(const Shape& shape, Random& random, Input /*input*/) {
    Case<Add> made;
    auto* x = made.memory.add<float>(Role::input, shape.n);
    auto* y = made.memory.add<float>(Role::in_out, shape.n);
    fill_activations(random, x, shape.n);
    fill_activations(random, y, shape.n);
    const float scale = random.next() % 2 == 0 ? 1.0F : random.uniform(-2.0F, 2.0F);
    made.args = {shape, x, scale, y};
    for (std::int64_t i = 0; i < shape.n; ++i) {
        const double product = static_cast<double>(scale) * static_cast<double>(x[i]);
        const double sum = static_cast<double>(y[i]) + product;
        made.expected.push_back(sum);
        made.bound.push_back(kUnit * (std::fabs(product) + std::fabs(sum)) * 1.001);
    }
    return made;
}

double Add::worst_error(const Case<Add>& test_case) {
    return worst_ratio(test_case.args.y, test_case.expected, test_case.bound);
}

static const RegisteredOp<Add> add_op;

}  // namespace steady
