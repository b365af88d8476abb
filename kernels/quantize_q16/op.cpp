// Cases of the finer quantisation: each value may be one 256th of a step from its float (half of
// it, but that a half rounded up saturates), and the sums agree with the values.
#include "kernels/quantize_q16/op.h"

#include <algorithm>
#include <cmath>

#include "kernels/base/op_info.h"

namespace steady {

std::vector<QuantizeQ16::Shape> QuantizeQ16::model_shapes() {
    return {{512}, {768}, {1536}, {2048}, {5120}, {10240}};
}

std::vector<QuantizeQ16::Shape> QuantizeQ16::odd_shapes(Random& random) {
    return {{32}, {96}, {32 * random.integer(1, 100)}};
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
    const Args& args = test_case.args;
    double worst = 0;
    for (std::int64_t b = 0; b < args.shape.n / 32; ++b) {
        const double scale = static_cast<double>(args.scale[b]);
        double largest = 0;
        std::int32_t sum = 0;
        for (std::int64_t i = b * 32; i < b * 32 + 32; ++i) {
            const double x = static_cast<double>(args.x[i]);
            largest = std::max(largest, std::fabs(x));
            sum += 256 * args.q8[i] + args.low[i];
            if (args.q8[i] == -128) return INFINITY;
            // A 256th of a step, and three roundings of x / scale, which is at most 127.
            const double error = std::fabs((args.q8[i] + args.low[i] / 256.0) * scale - x);
            if (error > 0) worst = std::max(worst, error / (scale * (1.0 / 256 + 127 * 3 * kUnit)));
        }
        const double scale_error = std::fabs(scale - largest / 127);
        if (scale_error > 0) worst = std::max(worst, scale_error / (2 * kUnit * largest / 127));
        if (sum != args.sum16[b]) return INFINITY;
    }
    return worst;
}

static const RegisteredOp<QuantizeQ16> op;

}  // namespace steady
