// Candidates are ordered by logit and then by number, so that equal logits never make a run differ
// from the next.
#include "engine/text/sampler.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "kernels/base/error.h"

namespace steady {

void refuse_logits(std::size_t n) {
    throw Error(fmt::format("sampling: found {} logits and none is a number, allowed: at least "
                            "one; check the kernels with steady-kernels check",
                            n),
                kExitInternal);
}

std::int32_t greedy_token(std::span<const float> logits) {
    std::int32_t best = -1;
    for (std::size_t i = 0; i < logits.size(); ++i) {
        if (std::isnan(logits[i])) continue;
        if (best < 0 || logits[i] > logits[static_cast<std::size_t>(best)]) {
            best = static_cast<std::int32_t>(i);
        }
    }
    if (best < 0) refuse_logits(logits.size());
    return best;
}

Sampler::Sampler(const SamplerOptions& options, std::int32_t n_vocab)
    : options_(options), random_(options.seed) {
    if (!(options.temperature >= 0.0F) || !std::isfinite(options.temperature)) {
        throw Error(
            fmt::format("--temperature: found {}, allowed: 0 or more", options.temperature));
    }
    if (options.top_k < 0) {
        throw Error(fmt::format("--top-k: found {}, allowed: 0 (all) or more", options.top_k));
    }
    if (!(options.top_p > 0.0F && options.top_p <= 1.0F)) {
        throw Error(fmt::format("--top-p: found {}, allowed: above 0, up to 1", options.top_p));
    }
    candidates_.reserve(static_cast<std::size_t>(n_vocab));
    weights_.reserve(static_cast<std::size_t>(n_vocab));
}

std::int32_t Sampler::pick(std::span<const float> logits) {
    const std::int32_t best = greedy_token(logits);
    const float top = logits[static_cast<std::size_t>(best)];
    if (options_.temperature == 0.0F || !std::isfinite(top)) return best;
    candidates_.clear();
    for (std::size_t i = 0; i < logits.size(); ++i) {
        if (std::isnan(logits[i])) continue;
        candidates_.push_back({logits[i], static_cast<std::int32_t>(i)});
    }
    const auto better = [](const Candidate& a, const Candidate& b) {
        return a.logit != b.logit ? a.logit > b.logit : a.token < b.token;
    };
    std::size_t n = candidates_.size();
    if (options_.top_k > 0) n = std::min(n, static_cast<std::size_t>(options_.top_k));
    if (n < candidates_.size()) {
        const auto middle = candidates_.begin() + static_cast<std::ptrdiff_t>(n);
        std::partial_sort(candidates_.begin(), middle, candidates_.end(), better);
    } else if (options_.top_p < 1.0F) {
        std::sort(candidates_.begin(), candidates_.end(), better);
    }
    weights_.clear();
    double sum = 0.0;
    for (std::size_t i = 0; i < n; ++i) {
        const double distance =
            static_cast<double>(candidates_[i].logit) - static_cast<double>(top);
        weights_.push_back(std::exp(distance / static_cast<double>(options_.temperature)));
        sum += weights_.back();
    }
    if (options_.top_p < 1.0F) {
        const double wanted = sum * static_cast<double>(options_.top_p);
        double reached = 0.0;
        std::size_t kept = 0;
        while (kept < n && reached < wanted) reached += weights_[kept++];
        n = std::max<std::size_t>(kept, 1);
        sum = reached;
    }
    // 53 random bits make a double in [0, 1); std distributions differ between libraries.
    double left = static_cast<double>(random_() >> 11) * 0x1.0p-53 * sum;
    for (std::size_t i = 0; i < n; ++i) {
        left -= weights_[i];
        if (left < 0.0) return candidates_[i].token;
    }
    return candidates_[0].token;
}

}  // namespace steady
