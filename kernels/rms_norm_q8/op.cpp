// Cases of the fused normalisation: floats as close as rms_norm's, bytes as close to these floats
// as quantize_q8's.
#include "kernels/rms_norm_q8/op.h"

#include <algorithm>

#include "kernels/cases/op_info.h"
#include "kernels/cases/quantize_error.h"
#include "kernels/rms_norm/op.h"

namespace steady {

std::vector<RmsNormQ8::Shape> RmsNormQ8::model_shapes() { return {{768}, {1536}, {2048}}; }

std::vector<RmsNormQ8::Shape> RmsNormQ8::odd_shapes(Random& random) {
    return {{32}, {96}, {32 * random.integer(1, 100)}};
}

Case<RmsNormQ8> RmsNormQ8::make_case(const Shape& shape, Random& random, Input input) {
    Case<RmsNorm> plain = RmsNorm::make_case({shape.n}, random, input);
    Case<RmsNormQ8> made;
    made.memory = std::move(plain.memory);
    made.expected = std::move(plain.expected);
    made.bound = std::move(plain.bound);
    made.args = {.shape = shape,
                 .x = plain.args.x,
                 .w = plain.args.w,
                 .eps = plain.args.eps,
                 .y = plain.args.y,
                 .q8 = made.memory.add<std::int8_t>(Role::output, shape.n),
                 .scale = made.memory.add<float>(Role::output, shape.n / 32),
                 .sum = made.memory.add<std::int32_t>(Role::output, shape.n / 32)};
    return made;
}

double RmsNormQ8::worst_error(const Case<RmsNormQ8>& test_case) {
    const Args& a = test_case.args;
    return std::max(worst_ratio(a.y, test_case.expected, test_case.bound),
                    worst_quantize_error(a.y, a.q8, nullptr, a.scale, a.sum, a.shape.n));
}

static const RegisteredOp<RmsNormQ8> rms_norm_q8_op;

}  // namespace steady
