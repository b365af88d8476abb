// The parts of a router (parts.h) with AVX-512.
#pragma once

#include <cmath>

#include "kernels/moe_router/parts.h"
#include "kernels/simd/avx512.h"
#include "kernels/simd/target.h"

namespace steady::router_avx512 {

using namespace router;

KERNEL_TARGET_BEGIN(KERNEL_AVX512)

template <Divide kDivide>
[[gnu::always_inline]] inline __m512 over(__m512 a, __m512 b) {
    if constexpr (kDivide == Divide::exactly) return _mm512_div_ps(a, b);
    const __m512 estimate = _mm512_rcp14_ps(b);
    const __m512 rest = _mm512_fnmadd_ps(b, estimate, _mm512_set1_ps(2.0F));
    return _mm512_mul_ps(a, _mm512_mul_ps(estimate, rest));
}

[[gnu::always_inline]] inline __mmask16 lanes(std::int64_t left) {
    return static_cast<__mmask16>(left >= 16 ? 0xFFFF : (1U << left) - 1);
}

template <Divide kDivide>
void probabilities(const MoeRouter::Args& args, float* out) {
    const std::int64_t n = args.shape.n_experts;
    const __m512 one = _mm512_set1_ps(1.0F);
    if (args.gating == Gating::sigmoid) {
        for (std::int64_t e = 0; e < n; e += 16) {
            const __m512 logit = _mm512_maskz_loadu_ps(lanes(n - e), args.logits + e);
            const __m512 below =
                _mm512_add_ps(one, avx512::exp(_mm512_sub_ps(_mm512_setzero_ps(), logit)));
            _mm512_storeu_ps(out + e, over<kDivide>(one, below));
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
        _mm512_storeu_ps(out + e, over<kDivide>(_mm512_loadu_ps(out + e), total));
    }
}

// The index of the largest score, the lowest such index; takes it out of the scores.
inline std::int32_t take_best(float* scores, std::int64_t n) {
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

// Each expert's place is the number of experts that beat it.
inline void choose_by_ranks(const float* scores, std::int64_t n, std::int64_t n_used,
                            std::int32_t* ids) {
    const __m512i lane = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    for (std::int64_t e = 0; e < n; ++e) {
        const __m512 score = _mm512_set1_ps(scores[e]);
        const __m512i id = _mm512_set1_epi32(static_cast<int>(e));
        int rank = 0;
        for (std::int64_t other = 0; other < n; other += 16) {
            const __m512 others = _mm512_loadu_ps(scores + other);
            const __m512i ids_there =
                _mm512_add_epi32(lane, _mm512_set1_epi32(static_cast<int>(other)));
            const __mmask16 above = _mm512_cmp_ps_mask(others, score, _CMP_GT_OQ);
            const __mmask16 equal = _mm512_cmp_ps_mask(others, score, _CMP_EQ_OQ);
            const __mmask16 before = _mm512_mask_cmplt_epi32_mask(equal, ids_there, id);
            rank += __builtin_popcount(static_cast<unsigned>(above) | before);
        }
        if (rank < n_used) ids[rank] = static_cast<std::int32_t>(e);
    }
}

template <Choose kChoose>
void choose(float* scores, std::int64_t n, std::int64_t n_used, std::int32_t* ids) {
    if constexpr (kChoose == Choose::sort) choose_by_sort(scores, n, n_used, ids);
    if constexpr (kChoose == Choose::ranks) choose_by_ranks(scores, n, n_used, ids);
    if constexpr (kChoose == Choose::passes) {
        for (std::int64_t k = 0; k < n_used; ++k) ids[k] = take_best(scores, n);
    }
}

template <Divide kDivide, Choose kChoose, Scale kScale>
void run(const MoeRouter::Args& args, Range range) noexcept {
    if (range.begin >= range.end) return;
    alignas(64) float probability[kMaxExperts] = {};
    alignas(64) float scores[kMaxExperts] = {};
    const std::int64_t n = args.shape.n_experts;
    probabilities<kDivide>(args, probability);
    for (std::int64_t e = 0; e < n; e += 16) {
        const __mmask16 mask = lanes(n - e);
        __m512 score = _mm512_loadu_ps(probability + e);
        if (args.bias != nullptr) {
            score = _mm512_add_ps(score, _mm512_maskz_loadu_ps(mask, args.bias + e));
        }
        _mm512_storeu_ps(scores + e, _mm512_mask_mov_ps(_mm512_set1_ps(-INFINITY), mask, score));
    }
    choose<kChoose>(scores, n, args.shape.n_used, args.ids);
    weigh<kScale>(args, probability);
}

KERNEL_TARGET_END

template <Divide kDivide, Choose kChoose, Scale kScale>
VariantOptions<MoeRouter> options() {
    return router::options(cpu::avx512, run<kDivide, kChoose, kScale>);
}

}  // namespace steady::router_avx512
