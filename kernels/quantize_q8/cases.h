// Cases of the two quantising ops.
#pragma once

#include "kernels/cases/op_info.h"
#include "kernels/cases/quantize_error.h"
#include "kernels/quantize_q8/op.h"

namespace steady {

template <bool kTwoBytes>
std::vector<QuantizeShape> QuantizeOp<kTwoBytes>::model_shapes() {
    return {{512}, {768}, {1536}, {2048}, {5120}, {10240}};
}

template <bool kTwoBytes>
std::vector<QuantizeShape> QuantizeOp<kTwoBytes>::odd_shapes(Random& random) {
    return {{32}, {96}, {32 * random.integer(1, 100)}};
}

template <bool kTwoBytes>
Case<QuantizeOp<kTwoBytes>> QuantizeOp<kTwoBytes>::make_case(const Shape& shape, Random& random,
                                                             Input /*input*/) {
    Case<QuantizeOp> made;
    CaseMemory& memory = made.memory;
    auto* x = memory.template add<float>(Role::input, shape.n);
    fill_activations(random, x, shape.n);
    made.args.shape = shape;
    made.args.x = x;
    made.args.q8 = memory.template add<std::int8_t>(Role::output, shape.n);
    made.args.scale = memory.template add<float>(Role::output, shape.n / 32);
    auto* sums = memory.template add<std::int32_t>(Role::output, shape.n / 32);
    if constexpr (kTwoBytes) {
        made.args.low = memory.template add<std::int8_t>(Role::output, shape.n);
        made.args.sum16 = sums;
    } else {
        made.args.sum = sums;
    }
    return made;
}

template <bool kTwoBytes>
double QuantizeOp<kTwoBytes>::worst_error(const Case<QuantizeOp>& test_case) {
    const Args& a = test_case.args;
    if constexpr (kTwoBytes) {
        return worst_quantize_error(a.x, a.q8, a.low, a.scale, a.sum16, a.shape.n);
    } else {
        return worst_quantize_error(a.x, a.q8, nullptr, a.scale, a.sum, a.shape.n);
    }
}

}  // namespace steady
