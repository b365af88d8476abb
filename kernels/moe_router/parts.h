// The parts of a router that have more than one way: how probabilities and weights are divided, how
// the best experts are found, and when the scale is applied. A variant names its ways.
#pragma once

#include <algorithm>
#include <numeric>

#include "kernels/moe_router/op.h"

namespace steady::router {

constexpr std::int64_t kMaxExperts = 512;  // scores live on the stack

enum class Divide {
    exactly,     // the division instruction
    reciprocal,  // an estimate of the reciprocal, refined once, and a multiplication
};
enum class Choose {
    passes,  // the largest score, once per place
    ranks,   // how many experts beat each one: its place, without any order of execution
    sort,    // a partial sort of all experts
};
enum class Scale {
    folded,  // scale / sum, then one multiplication per weight
    apart,   // each weight divided by the sum, then multiplied by the scale
};

// Best score first, ties to the lower id.
struct Better {
    const float* scores;
    bool operator()(std::int32_t a, std::int32_t b) const {
        return scores[a] > scores[b] || (scores[a] == scores[b] && a < b);
    }
};

inline void choose_by_sort(const float* scores, std::int64_t n, std::int64_t n_used,
                           std::int32_t* ids) {
    std::int32_t all[kMaxExperts];
    std::iota(all, all + n, 0);
    std::partial_sort(all, all + n_used, all + n, Better{scores});
    std::copy(all, all + n_used, ids);
}

template <Scale kScale>
void scale_weights(const MoeRouter::Args& args, float sum) {
    const float scale = args.scale == 0 ? 1.0F : args.scale;
    const float divisor = args.normalise ? std::max(sum, MoeRouter::kSmallestSum) : 1.0F;
    const float factor = scale / divisor;
    for (std::int64_t k = 0; k < args.shape.n_used; ++k) {
        float& weight = args.weights[k];
        weight = kScale == Scale::folded ? weight * factor : weight / divisor * scale;
    }
}

// The chosen experts' probabilities become their weights.
template <Scale kScale>
void weigh(const MoeRouter::Args& args, const float* probability) {
    float sum = 0;
    for (std::int64_t k = 0; k < args.shape.n_used; ++k) {
        args.weights[k] = probability[args.ids[k]];
        sum += args.weights[k];
    }
    scale_weights<kScale>(args, sum);
}

inline VariantOptions<MoeRouter> options(cpu::Features needs, MoeRouter::Run run) {
    return {.needs = needs,
            .supports = [](const MoeRouterShape& shape) { return shape.n_experts <= kMaxExperts; },
            .granule = kWhole,
            .run = run};
}

}  // namespace steady::router
