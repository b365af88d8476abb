// Probabilities eight at a time with AVX2, then the best of them once per place in plain code.
// Expected: the choice without AVX-512; the exponentials are most of the reference's time.
#include "kernels/base/avx2.h"

#include <algorithm>
#include <cmath>

#include "kernels/base/target.h"
#include "kernels/moe_router/op.h"

namespace steady {
namespace {

constexpr std::int64_t kMaxExperts = 512;  // scores live on the stack

// Takes the best out of the scores: the largest, the lowest id among equals.
std::int32_t take_best(float* scores, std::int64_t n) {
    float* best = std::max_element(scores, scores + n);
    *best = -INFINITY;
    return static_cast<std::int32_t>(best - scores);
}

}  // namespace

KERNEL_TARGET_BEGIN(KERNEL_AVX2)
namespace {

// out[e] = 1 / (1 + e^-logit), written with e^-|logit|, which cannot overflow.
void sigmoids(const float* logits, std::int64_t n, float* out) {
    const __m256 one = _mm256_set1_ps(1.0F);
    for (std::int64_t e = 0; e < n; e += 8) {
        const __m256i mask = avx2::lanes(n - e);
        const __m256 logit = _mm256_maskload_ps(logits + e, mask);
        const __m256 small = avx2::exp_negative(_mm256_or_ps(logit, _mm256_set1_ps(-0.0F)));
        const __m256 top = _mm256_blendv_ps(one, small, logit);  // by sign
        _mm256_maskstore_ps(out + e, mask, _mm256_div_ps(top, _mm256_add_ps(one, small)));
    }
}

void softmax(const float* logits, std::int64_t n, float* out) {
    const __m256 largest = _mm256_set1_ps(*std::max_element(logits, logits + n));
    __m256 sums = _mm256_setzero_ps();
    for (std::int64_t e = 0; e < n; e += 8) {
        const __m256i mask = avx2::lanes(n - e);
        const __m256 below = _mm256_sub_ps(_mm256_maskload_ps(logits + e, mask), largest);
        // Beyond the end the argument must not be positive; the result is masked away.
        const __m256 power = avx2::exp_negative(_mm256_min_ps(below, _mm256_setzero_ps()));
        const __m256 weight = _mm256_and_ps(power, _mm256_castsi256_ps(mask));
        sums = _mm256_add_ps(sums, weight);
        _mm256_maskstore_ps(out + e, mask, weight);
    }
    const float total = avx2::sum(sums);
    for (std::int64_t e = 0; e < n; ++e) out[e] /= total;
}

void run(const MoeRouter::Args& args, Range range) noexcept {
    if (range.begin >= range.end) return;
    float probability[kMaxExperts];
    float scores[kMaxExperts] = {};  // the analyzer of clang-tidy cannot see that n >= 1
    const std::int64_t n = args.shape.n_experts;
    if (args.gating == Gating::sigmoid) {
        sigmoids(args.logits, n, probability);
    } else {
        softmax(args.logits, n, probability);
    }
    for (std::int64_t e = 0; e < n; ++e) {
        scores[e] = args.bias == nullptr ? probability[e] : probability[e] + args.bias[e];
    }
    float sum = 0;
    for (std::int64_t k = 0; k < args.shape.n_used; ++k) {
        args.ids[k] = take_best(scores, n);
        args.weights[k] = probability[args.ids[k]];
        sum += args.weights[k];
    }
    float factor = args.scale == 0 ? 1.0F : args.scale;
    if (args.normalise) factor /= std::max(sum, MoeRouter::kSmallestSum);
    for (std::int64_t k = 0; k < args.shape.n_used; ++k) args.weights[k] *= factor;
}

}  // namespace
KERNEL_TARGET_END

static const Variant<MoeRouter> variant{
    "avx2",
    {
        .needs = cpu::avx2,
        .supports = [](const MoeRouterShape& shape) { return shape.n_experts <= kMaxExperts; },
        .granule = kWhole,
        .run = run,
    }};

}  // namespace steady
