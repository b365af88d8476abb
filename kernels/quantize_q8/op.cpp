// Cases of the quantisation to one byte per value.
#include "kernels/quantize_q8/op.h"

#include "kernels/cases/op_info.h"
#include "kernels/cases/quantize_case.h"

namespace steady {

std::vector<QuantizeQ8::Shape> QuantizeQ8::model_shapes() {
    return quantize_shapes(model_quantize_lengths());
}

std::vector<QuantizeQ8::Shape> QuantizeQ8::odd_shapes(Random& random) {
    return quantize_shapes(odd_quantize_lengths(random));
}

Case<QuantizeQ8> QuantizeQ8::make_case(const Shape& shape, Random& random, Input /*input*/) {
    Case<QuantizeQ8> made;
    auto* x = made.memory.add<float>(Role::input, shape.n);
    fill_activations(random, x, shape.n);
    made.args = {.shape = shape,
                 .x = x,
                 .q8 = made.memory.add<std::int8_t>(Role::output, shape.n),
                 .scale = made.memory.add<float>(Role::output, shape.n / 32),
                 .sum = made.memory.add<std::int32_t>(Role::output, shape.n / 32)};
    return made;
}

double QuantizeQ8::worst_error(const Case<QuantizeQ8>& test_case) {
    const Args& a = test_case.args;
    return worst_quantize_error(a.x, a.q8, nullptr, a.scale, a.sum, a.shape.n);
}

static const RegisteredOp<QuantizeQ8> op;

}  // namespace steady
