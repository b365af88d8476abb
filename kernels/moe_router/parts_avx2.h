// The parts of a router (parts.h) with AVX2.
#pragma once

#include <cmath>

#include "kernels/moe_router/parts.h"
#include "kernels/simd/avx2.h"
#include "kernels/simd/target.h"

namespace steady::router_avx2 {

using namespace router;

KERNEL_TARGET_BEGIN(KERNEL_AVX2)

template <Divide kDivide>
[[gnu::always_inline]] inline __m256 over(__m256 a, __m256 b) {
    if constexpr (kDivide == Divide::exactly) return _mm256_div_ps(a, b);
    const __m256 estimate = _mm256_rcp_ps(b);
    const __m256 rest = _mm256_fnmadd_ps(b, estimate, _mm256_set1_ps(2.0F));
    return _mm256_mul_ps(a, _mm256_mul_ps(estimate, rest));
}

// 1 / (1 + e^-logit), written with e^-|logit|, which cannot overflow.
template <Divide kDivide>
void sigmoids(const float* logits, std::int64_t n, float* out) {
    const __m256 one = _mm256_set1_ps(1.0F);
    for (std::int64_t e = 0; e < n; e += 8) {
        const __m256 logit = _mm256_maskload_ps(logits + e, avx2::lanes(n - e));
        const __m256 small = avx2::exp_negative(_mm256_or_ps(logit, _mm256_set1_ps(-0.0F)));
        const __m256 top = _mm256_blendv_ps(one, small, logit);  // by sign
        _mm256_storeu_ps(out + e, over<kDivide>(top, _mm256_add_ps(one, small)));
    }
}

template <Divide kDivide>
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
        _mm256_storeu_ps(out + e, weight);
    }
    const __m256 total = _mm256_set1_ps(avx2::sum(sums));
    for (std::int64_t e = 0; e < n; e += 8) {
        _mm256_storeu_ps(out + e, over<kDivide>(_mm256_loadu_ps(out + e), total));
    }
}

// Bit i: whether lane i holds.
[[gnu::always_inline]] inline unsigned bits(__m256 lanes) {
    return static_cast<unsigned>(_mm256_movemask_ps(lanes));
}

// The index of the largest score, the lowest such index; takes it out of the scores.
inline std::int32_t take_best(float* scores, std::int64_t n) {
    __m256 largest = _mm256_loadu_ps(scores);
    for (std::int64_t e = 8; e < n; e += 8) {
        largest = _mm256_max_ps(largest, _mm256_loadu_ps(scores + e));
    }
    largest = _mm256_max_ps(largest, _mm256_permute2f128_ps(largest, largest, 1));
    largest = _mm256_max_ps(largest, _mm256_shuffle_ps(largest, largest, 0x4E));
    const __m256 top = _mm256_max_ps(largest, _mm256_shuffle_ps(largest, largest, 0xB1));
    std::int64_t best = 0;
    for (std::int64_t e = 0; e < n; e += 8) {
        const unsigned hits = bits(_mm256_cmp_ps(_mm256_loadu_ps(scores + e), top, _CMP_EQ_OQ));
        if (hits == 0) continue;
        best = e + __builtin_ctz(hits);
        break;
    }
    scores[best] = -INFINITY;
    return static_cast<std::int32_t>(best);
}

// Each expert's place is the number of experts that beat it.
inline void choose_by_ranks(const float* scores, std::int64_t n, std::int64_t n_used,
                            std::int32_t* ids) {
    for (std::int64_t e = 0; e < n; ++e) {
        const __m256 score = _mm256_set1_ps(scores[e]);
        int rank = 0;
        for (std::int64_t other = 0; other < n; other += 8) {
            const __m256 others = _mm256_loadu_ps(scores + other);
            const unsigned above = bits(_mm256_cmp_ps(others, score, _CMP_GT_OQ));
            const unsigned equal = bits(_mm256_cmp_ps(others, score, _CMP_EQ_OQ));
            // Among equals only those with a lower id beat it.
            const std::int64_t lower = std::clamp<std::int64_t>(e - other, 0, 8);
            rank += __builtin_popcount(above | (equal & ((1U << lower) - 1)));
        }
        if (rank < n_used) ids[rank] = static_cast<std::int32_t>(e);
    }
}

template <Choose kChoose>
void choose(float* scores, std::int64_t n, std::int64_t n_used, std::int32_t* ids) {
    static_assert(kChoose != Choose::sort, "asked with AVX-512 only");
    if constexpr (kChoose == Choose::ranks) choose_by_ranks(scores, n, n_used, ids);
    if constexpr (kChoose == Choose::passes) {
        for (std::int64_t k = 0; k < n_used; ++k) ids[k] = take_best(scores, n);
    }
}

template <Divide kDivide, Choose kChoose, Scale kScale>
void run(const MoeRouter::Args& args, Range range) noexcept {
    if (range.begin >= range.end) return;
    alignas(32) float probability[kMaxExperts] = {};
    alignas(32) float scores[kMaxExperts] = {};
    const std::int64_t n = args.shape.n_experts;
    if (args.gating == Gating::sigmoid) {
        sigmoids<kDivide>(args.logits, n, probability);
    } else {
        softmax<kDivide>(args.logits, n, probability);
    }
    for (std::int64_t e = 0; e < n; e += 8) {
        const __m256i mask = avx2::lanes(n - e);
        __m256 score = _mm256_loadu_ps(probability + e);
        if (args.bias != nullptr) {
            score = _mm256_add_ps(score, _mm256_maskload_ps(args.bias + e, mask));
        }
        const __m256 lowest = _mm256_set1_ps(-INFINITY);
        _mm256_storeu_ps(scores + e, _mm256_blendv_ps(lowest, score, _mm256_castsi256_ps(mask)));
    }
    choose<kChoose>(scores, n, args.shape.n_used, args.ids);
    weigh<kScale>(args, probability);
}

KERNEL_TARGET_END

template <Divide kDivide, Choose kChoose, Scale kScale>
VariantOptions<MoeRouter> options() {
    return router::options(cpu::avx2, run<kDivide, kChoose, kScale>);
}

}  // namespace steady::router_avx2
