// Cases of the router, with equal logits among them. A choice is right when no expert left out has
// a score above it by more than the roundings of both, and when no equal expert with a lower id was
// left out; the weights are then held against the formula.
#include "kernels/moe_router/op.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "kernels/cases/op_info.h"

namespace steady {
namespace {

// Probability and score of each expert, in double.
struct Scores {
    std::vector<double> probability, score, slack;
};

Scores expect_scores(const MoeRouter::Args& args) {
    const auto n = static_cast<std::size_t>(args.shape.n_experts);
    const double largest = static_cast<double>(*std::max_element(args.logits, args.logits + n));
    double total = 0;
    for (std::size_t e = 0; e < n; ++e) {
        total += std::exp(static_cast<double>(args.logits[e]) - largest);
    }
    Scores scores;
    for (std::size_t e = 0; e < n; ++e) {
        const double logit = static_cast<double>(args.logits[e]);
        const double p = args.gating == Gating::sigmoid ? 1 / (1 + std::exp(-logit))
                                                        : std::exp(logit - largest) / total;
        const double bias = args.bias != nullptr ? static_cast<double>(args.bias[e]) : 0.0;
        const double chain = 12 + static_cast<double>(n) / 8 + std::fabs(logit - largest);
        scores.probability.push_back(p);
        scores.score.push_back(p + bias);
        scores.slack.push_back(kUnit * (chain * p + std::fabs(p + bias)));
    }
    return scores;
}

bool same_inputs(const MoeRouter::Args& args, std::int64_t a, std::int64_t b) {
    return args.logits[a] == args.logits[b] &&
           (args.bias == nullptr || args.bias[a] == args.bias[b]);
}

// Whether ids[place] may follow ids[0 … place).
bool choice_is_right(const MoeRouter::Args& args, const Scores& scores, std::int64_t place) {
    const std::int32_t id = args.ids[place];
    if (id < 0 || id >= args.shape.n_experts) return false;
    if (std::find(args.ids, args.ids + place, id) != args.ids + place) return false;
    const auto chosen = static_cast<std::size_t>(id);
    for (std::size_t e = 0; e < scores.score.size(); ++e) {
        const auto other = static_cast<std::int32_t>(e);
        if (std::find(args.ids, args.ids + place + 1, other) != args.ids + place + 1) continue;
        const double slack = scores.slack[e] + scores.slack[chosen];
        if (scores.score[e] > scores.score[chosen] + slack) return false;
        if (other < id && same_inputs(args, other, id)) return false;
    }
    return true;
}

}  // namespace

std::vector<MoeRouter::Shape> MoeRouter::model_shapes() { return {{64, 4}, {64, 6}}; }

std::vector<MoeRouter::Shape> MoeRouter::odd_shapes(Random& random) {
    const std::int64_t n_experts = random.integer(2, 200);
    return {{1, 1},
            {5, 5},
            {16, 3},
            {70, 8},
            {n_experts, random.integer(1, std::min<std::int64_t>(n_experts, 12))}};
}

Case<MoeRouter> MoeRouter::make_case(const Shape& shape, Random& random, Input /*input*/) {
    Case<MoeRouter> made;
    auto* logits = made.memory.add<float>(Role::input, shape.n_experts);
    auto* bias = made.memory.add<float>(Role::input, shape.n_experts);
    for (std::int64_t e = 0; e < shape.n_experts; ++e) {
        logits[e] = random.uniform(-6.0F, 6.0F);
        bias[e] = random.uniform(-0.2F, 0.2F);
    }
    for (std::int64_t e = 1; e < shape.n_experts; e += 5) {  // equals, some of them on top
        const std::int64_t other = random.integer(0, e - 1);
        if (random.next() % 2 == 0) logits[other] = 6.0F;
        logits[e] = logits[other];
        bias[e] = bias[other];
    }
    const bool glm = random.next() % 2 == 0;
    made.args = {.shape = shape,
                 .logits = logits,
                 .bias = glm ? bias : nullptr,
                 .gating = glm ? Gating::sigmoid : Gating::softmax,
                 .normalise = glm,
                 .scale = glm ? 1.8F : 1.0F,
                 .ids = made.memory.add<std::int32_t>(Role::output, shape.n_used),
                 .weights = made.memory.add<float>(Role::output, shape.n_used)};
    return made;
}

double MoeRouter::worst_error(const Case<MoeRouter>& test_case) {
    const Args& args = test_case.args;
    const Scores scores = expect_scores(args);
    double sum = 0;
    double slack = 0;
    for (std::int64_t k = 0; k < args.shape.n_used; ++k) {
        if (!choice_is_right(args, scores, k)) return INFINITY;
        const auto id = static_cast<std::size_t>(args.ids[k]);
        sum += scores.probability[id];
        slack += scores.slack[id];
    }
    double factor = args.scale == 0 ? 1.0 : static_cast<double>(args.scale);
    if (args.normalise) factor /= std::max(sum, static_cast<double>(kSmallestSum));
    double worst = 0;
    for (std::int64_t k = 0; k < args.shape.n_used; ++k) {
        const auto id = static_cast<std::size_t>(args.ids[k]);
        const double expected = scores.probability[id] * factor;
        const double n_used = static_cast<double>(args.shape.n_used);
        const double relative = args.normalise ? slack / sum + (n_used + 4) * kUnit : 4 * kUnit;
        const double bound = scores.slack[id] * factor + relative * expected;
        const double error = std::fabs(static_cast<double>(args.weights[k]) - expected);
        if (!(error <= bound)) return bound > 0 && error > 0 ? error / bound : INFINITY;
        worst = std::max(worst, error / bound);
    }
    return worst;
}

static const RegisteredOp<MoeRouter> moe_router_op;

}  // namespace steady
