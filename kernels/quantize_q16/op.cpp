// Cases of the quantisation to two bytes per value.
#include "kernels/quantize_q16/op.h"

#include "kernels/cases/op_info.h"
#include "kernels/cases/quantize_case.h"

namespace steady {

std::vector<QuantizeQ16::Shape> QuantizeQ16::model_shapes() {
    return quantize_shapes(model_quantize_lengths());
}

std::vector<QuantizeQ16::Shape> QuantizeQ16::odd_shapes(Random& random) {
    return quantize_shapes(odd_quantize_lengths(random));
}

Case<QuantizeQ16> QuantizeQ16::make_case(const Shape& shape, Random& random, Input /*input*/) {
    Case<QuantizeQ16> made;
    auto* x = made.memory.add<float>(Role::input, shape.n);
    fill_activations(random, x, shape.n);
    made.args = {.shape = shape,
                 .x = x,
                 .q8 = made.memory.add<std::int8_t>(Role::output, shape.n),
                 .scale = made.memory.add<float>(Role::output, shape.n / 32),
                 .low = made.memory.add<std::int8_t>(Role::output, shape.n),
                 .sum16 = made.memory.add<std::int32_t>(Role::output, shape.n / 32)};
    return made;
}

double QuantizeQ16::worst_error(const Case<QuantizeQ16>& test_case) {
    const Args& a = test_case.args;
    return worst_quantize_error(a.x, a.q8, a.low, a.scale, a.sum16, a.shape.n);
}

static const RegisteredOp<QuantizeQ16> op;

}  // namespace steady
