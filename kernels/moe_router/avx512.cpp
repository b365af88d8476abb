// Probabilities of all experts in registers' width, then the best of them once per place: the
// largest score by a vector pass, its lowest index by a second compare. Expected: several times the
// reference, which recomputes exponentials for each place.
#include "kernels/base/avx512.h"

#include <algorithm>
#include <cmath>

#include "kernels/base/target.h"
#include "kernels/moe_router/op.h"

namespace steady {
namespace {

constexpr std::int64_t kMaxExperts = 512;  // scores live on the stack

}  // namespace

KERNEL_TARGET_BEGIN(KERNEL_AVX512)
namespace {

[[gnu::always_inline]] inline __mmask16 lanes(std::int64_t left) {
    return static_cast<__mmask16>(left >= 16 ? 0xFFFF : (1U << left) - 1);
}

void probabilities(const MoeRouter::Args& args, float* out) {
    const std::int64_t n = args.shape.n_experts;
    const __m512 one = _mm512_set1_ps(1.0F);
    if (args.gating == Gating::sigmoid) {
        for (std::int64_t e = 0; e < n; e += 16) {
            const __m512 logit = _mm512_maskz_loadu_ps(lanes(n - e), args.logits + e);
            const __m512 p = _mm512_div_ps(
                one, _mm512_add_ps(one, avx512::exp(_mm512_sub_ps(_mm512_setzero_ps(), logit))));
            _mm512_storeu_ps(out + e, p);
        }
        return;
    }
    const __m512 lowest = _mm512_set1_ps(-INFINITY);
    __m512 largest = lowest;
    for (std::int64_t e = 0; e < n; e += 16) {
        largest =
            _mm512_max_ps(largest, _mm512_mask_loadu_ps(lowest, lanes(n - e), args.logits + e));
    }
    const __m512 top = _mm512_set1_ps(_mm512_reduce_max_ps(largest));
    __m512 sums = _mm512_setzero_ps();
    for (std::int64_t e = 0; e < n; e += 16) {
        const __mmask16 mask = lanes(n - e);
        const __m512 logit = _mm512_maskz_loadu_ps(mask, args.logits + e);
        const __m512 p = _mm512_maskz_mov_ps(mask, avx512::exp(_mm512_sub_ps(logit, top)));
        sums = _mm512_add_ps(sums, p);
        _mm512_storeu_ps(out + e, p);
    }
    const __m512 total = _mm512_set1_ps(avx512::sum(sums));
    for (std::int64_t e = 0; e < n; e += 16) {
        _mm512_storeu_ps(out + e, _mm512_div_ps(_mm512_loadu_ps(out + e), total));
    }
}

// The index of the largest score, the lowest such index; takes it out of the scores.
std::int32_t take_best(float* scores, std::int64_t n) {
    __m512 largest = _mm512_loadu_ps(scores);
    for (std::int64_t e = 16; e < n; e += 16) {
        largest = _mm512_max_ps(largest, _mm512_loadu_ps(scores + e));
    }
    const __m512 top = _mm512_set1_ps(_mm512_reduce_max_ps(largest));
    std::int64_t best = 0;
    for (std::int64_t e = 0; e < n; e += 16) {
        const __mmask16 hits = _mm512_cmp_ps_mask(_mm512_loadu_ps(scores + e), top, _CMP_EQ_OQ);
        if (hits == 0) continue;
        best = e + __builtin_ctz(hits);
        break;
    }
    scores[best] = -INFINITY;
    return static_cast<std::int32_t>(best);
}

void run(const MoeRouter::Args& args, Range range) noexcept {
    if (range.begin >= range.end) return;
    alignas(64) float probability[kMaxExperts] = {};
    alignas(64) float scores[kMaxExperts] = {};
    const std::int64_t n = args.shape.n_experts;
    probabilities(args, probability);
    for (std::int64_t e = 0; e < n; e += 16) {
        const __mmask16 mask = lanes(n - e);
        __m512 score = _mm512_loadu_ps(probability + e);
        if (args.bias != nullptr) {
            score = _mm512_add_ps(score, _mm512_maskz_loadu_ps(mask, args.bias + e));
        }
        _mm512_storeu_ps(scores + e, _mm512_mask_mov_ps(_mm512_set1_ps(-INFINITY), mask, score));
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
    "avx512",
    {
        .needs = cpu::avx512,
        .supports = [](const MoeRouterShape& shape) { return shape.n_experts <= kMaxExperts; },
        .granule = kWhole,
        .run = run,
    }};

}  // namespace steady
