// One pass over the experts for every place: simple, and ties go to the lower id by themselves.
// The selection score is rounded to float before it is compared, so that "equal" means the same to
// every variant.
#include <algorithm>
#include <cmath>

#include "kernels/moe_router/op.h"

namespace steady {
namespace {

double probability(const MoeRouter::Args& args, std::int64_t e, float largest, double total) {
    const double logit = static_cast<double>(args.logits[e]);
    if (args.gating == Gating::sigmoid) return 1.0 / (1.0 + std::exp(-logit));
    return std::exp(logit - static_cast<double>(largest)) / total;
}

void run(const MoeRouter::Args& args, Range range) noexcept {
    if (range.begin >= range.end) return;
    const std::int64_t n = args.shape.n_experts;
    const std::int64_t n_used = args.shape.n_used;
    const float largest = *std::max_element(args.logits, args.logits + n);
    double total = 0;
    for (std::int64_t e = 0; e < n; ++e) {
        total += std::exp(static_cast<double>(args.logits[e]) - static_cast<double>(largest));
    }
    double sum = 0;
    for (std::int64_t k = 0; k < n_used; ++k) {
        std::int32_t best = -1;
        float best_score = 0;
        for (std::int64_t e = 0; e < n; ++e) {
            const auto id = static_cast<std::int32_t>(e);
            if (std::find(args.ids, args.ids + k, id) != args.ids + k) continue;
            float score = static_cast<float>(probability(args, e, largest, total));
            if (args.bias != nullptr) score += args.bias[e];
            if (best >= 0 && !(score > best_score)) continue;
            best = id;
            best_score = score;
        }
        args.ids[k] = best;
        args.weights[k] = static_cast<float>(probability(args, best, largest, total));
        sum += static_cast<double>(args.weights[k]);
    }
    double factor = args.scale == 0 ? 1.0 : static_cast<double>(args.scale);
    if (args.normalise) factor /= std::max(sum, static_cast<double>(MoeRouter::kSmallestSum));
    for (std::int64_t k = 0; k < n_used; ++k) {
        args.weights[k] = static_cast<float>(static_cast<double>(args.weights[k]) * factor);
    }
}

}  // namespace

static const Variant<MoeRouter> variant{"reference", {.run = run}};

}  // namespace steady
