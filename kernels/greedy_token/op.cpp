// Cases of the greedy token: equal logits, zeros of both signs, NaN, infinities, nothing but NaN.
#include "kernels/greedy_token/op.h"

#include <cmath>
#include <limits>

#include "kernels/cases/op_info.h"

namespace steady {

namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

// What makes a choice hard, by turns.
void spoil(Random& random, float* logits, std::int64_t n) {
    const auto anywhere = [&] { return logits + random.integer(0, n - 1); };
    const auto all = [&](float value) { std::fill_n(logits, n, value); };
    switch (random.integer(0, 6)) {
        case 0:  // equals on top
            for (int i = 0; i < 3; ++i) *anywhere() = 100;
            break;
        case 1:
            all(0);
            for (std::int64_t i = 0; i < n; i += 2) logits[i] = -0.0F;
            break;
        case 2:
            all(kNan);
            break;
        case 3:
            all(-kInfinity);
            logits[0] = kNan;
            break;
        case 4:
            *anywhere() = kInfinity;
            *anywhere() = kNan;
            break;
        case 5:  // all below zero
            for (std::int64_t i = 0; i < n; ++i) logits[i] = -1 - std::fabs(logits[i]);
            break;
        default:
            break;
    }
}

}  // namespace

std::vector<GreedyToken::Shape> GreedyToken::model_shapes() { return {{154880}}; }

std::vector<GreedyToken::Shape> GreedyToken::odd_shapes(Random& random) {
    std::vector<Shape> shapes = {{1}, {17}, {1024}};
    for (int i = 0; i < 8; ++i) shapes.push_back({random.integer(1, 20000)});
    return shapes;
}

Case<GreedyToken> GreedyToken::make_case(const Shape& shape, Random& random, Input /*input*/) {
    Case<GreedyToken> made;
    auto* logits = made.memory.add<float>(Role::input, shape.n);
    fill_activations(random, logits, shape.n);
    spoil(random, logits, shape.n);
    auto* now = made.memory.add<std::int32_t>(Role::in_out, 2);
    now[1] = static_cast<std::int32_t>(random.integer(0, 4096));
    made.args = {shape, logits, now, made.memory.add<std::int32_t>(Role::output, 1)};
    std::int32_t best = kNone;
    for (std::int64_t i = 0; i < shape.n; ++i) {
        if (std::isnan(logits[i])) continue;
        if (best == kNone || logits[i] > logits[best]) best = static_cast<std::int32_t>(i);
    }
    made.expected = {static_cast<double>(best), static_cast<double>(now[1] + 1)};
    return made;
}

double GreedyToken::worst_error(const Case<GreedyToken>& test_case) {
    const Args& args = test_case.args;
    const bool right = args.now[0] == test_case.expected[0] && args.told[0] == args.now[0] &&
                       args.now[1] == test_case.expected[1];
    return right ? 0 : INFINITY;
}

static const RegisteredOp<GreedyToken> greedy_token_op;

}  // namespace steady
