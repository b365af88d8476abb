// One logit after the other.
#include <cmath>

#include "kernels/greedy_token/op.h"

namespace steady {

static void run(const GreedyToken::Args& args, Range /*range*/) noexcept {
    std::int32_t best = GreedyToken::kNone;
    for (std::int64_t i = 0; i < args.shape.n; ++i) {
        if (std::isnan(args.logits[i])) continue;
        if (best < 0 || args.logits[i] > args.logits[best]) best = static_cast<std::int32_t>(i);
    }
    args.now[0] = args.told[0] = best;
    ++args.now[1];
}

static const Variant<GreedyToken> variant{"reference", {.run = run}};

}  // namespace steady
