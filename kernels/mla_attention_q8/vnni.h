// Attention over the byte cache with AVX-512: scores by VNNI with a lane per position, as a packed
// matrix product; the weighted sum by VNNI too, each register turned by one byte shuffle so that
// the four bytes of a lane are four positions of one column. Five heads share each load.
#pragma once

#include <algorithm>
#include <cmath>

#include "kernels/mla_attention_q8/op.h"
#include "kernels/simd/avx512.h"
#include "kernels/simd/target.h"

namespace steady::mla_vnni {

constexpr int kHeads = 5;                 // that share a pass over the cache
constexpr std::int64_t kSpan = 8;         // groups of positions per step of the weighted sum
constexpr std::int64_t kMaxRank = 1024;   // sums live on the stack
constexpr float kWeightSteps = 65535.0F;  // of a weight, in two bytes

constexpr std::int64_t kMaxBlocks = 64;          // of a query
constexpr std::int64_t kMostHeads = 4 * kHeads;  // of which a thread keeps something at once

inline bool supports(const MlaQ8Shape& shape) {
    return shape.kv_rank <= kMaxRank && shape.width() <= 32 * kMaxBlocks;
}

KERNEL_TARGET_BEGIN(KERNEL_AVX512_VNNI)

// What a block of 32 columns of a head's query is worth, and what the 128 stored with each byte of
// the cache adds to its sum.
struct Query {
    float factor[kMaxBlocks];
    std::int32_t offset[kMaxBlocks];
};

template <bool kTwoBytes>
void prepare(const MlaAttentionQ8::Args& args, std::int64_t head, Query& query) {
    const std::int64_t n = args.shape.width() / 32;
    for (std::int64_t b = 0; b < n; ++b) {
        const std::int64_t at = head * n + b;
        query.factor[b] = args.q.q8_scale[at] * (kTwoBytes ? 1.0F / 256.0F : 1.0F);
        query.offset[b] = 128 * (kTwoBytes ? args.q.q16_sum[at] : args.q.q8_sum[at]);
    }
}

// Adds q[h] · k over blocks [first, first + n_blocks) of 32 columns to kN heads' sums, a lane per
// position. The same bytes of the group kAhead groups on are fetched meanwhile.
template <int kN, bool kTwoBytes, int kAhead>
[[gnu::always_inline]] inline void add_scores(const std::byte* group, const Activation& q,
                                              const Query* queries, std::int64_t head,
                                              std::int64_t n_all, std::int64_t first,
                                              std::int64_t n_blocks, __m512* sums) {
    const std::int64_t ahead = kAhead * mla_q8::group_bytes(32 * n_all);
    for (std::int64_t b = first; b < first + n_blocks; ++b) {
        __m512i high[kN];
        __m512i low[kN];
        for (int h = 0; h < kN; ++h) {
            high[h] = kTwoBytes ? _mm512_setzero_si512() : _mm512_set1_epi32(-queries[h].offset[b]);
            low[h] = _mm512_set1_epi32(-queries[h].offset[b]);
        }
#pragma GCC unroll 8  // else the sums are copied around each turn
        for (int j = 0; j < 8; ++j) {
            const std::byte* at_k = group + 64 * (8 * b + j);
            if constexpr (kAhead > 0) {
                _mm_prefetch(reinterpret_cast<const char*>(at_k) + ahead, _MM_HINT_T1);
            }
            const __m512i k = avx512::load(at_k);
            for (int h = 0; h < kN; ++h) {
                const std::int64_t at = 32 * ((head + h) * n_all + b) + 4 * j;
                high[h] = _mm512_dpbusd_epi32(high[h], k, avx512::broadcast4(q.q8 + at));
                if constexpr (kTwoBytes) {
                    low[h] = _mm512_dpbusd_epi32(low[h], k, avx512::broadcast4(q.q8_low + at));
                }
            }
        }
        for (int h = 0; h < kN; ++h) {
            const __m512i both =
                kTwoBytes ? _mm512_add_epi32(_mm512_slli_epi32(high[h], 8), low[h]) : high[h];
            sums[h] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(both),
                                      _mm512_set1_ps(queries[h].factor[b]), sums[h]);
        }
    }
}

// Scores of sixteen positions for kN heads, into each head's scratch.
template <int kN, bool kTwoBytes, int kAhead = 0>
void score_group(const MlaAttentionQ8::Args& args, const Query* queries, std::int64_t head,
                 std::int64_t group_index, std::int64_t padded) {
    const MlaQ8Shape& shape = args.shape;
    const std::int64_t n_all = shape.width() / 32;
    const std::int64_t n_latent = shape.kv_rank / 32;
    const std::byte* group = args.cache + group_index * mla_q8::group_bytes(shape.width());
    const float* scales = mla_q8::scales(group, shape.width());
    __m512 latent[kN];
    __m512 rotary[kN];
    for (int h = 0; h < kN; ++h) latent[h] = rotary[h] = _mm512_setzero_ps();
    add_scores<kN, kTwoBytes, kAhead>(group, args.q, queries, head, n_all, 0, n_latent, latent);
    add_scores<kN, kTwoBytes, kAhead>(group, args.q, queries, head, n_all, n_latent,
                                      n_all - n_latent, rotary);
    const __m512 latent_scale = _mm512_mul_ps(_mm512_loadu_ps(scales), _mm512_set1_ps(args.scale));
    const __m512 rotary_scale =
        _mm512_mul_ps(_mm512_loadu_ps(scales + 16), _mm512_set1_ps(args.scale));
    for (int h = 0; h < kN; ++h) {
        const __m512 score =
            _mm512_fmadd_ps(latent[h], latent_scale, _mm512_mul_ps(rotary[h], rotary_scale));
        _mm512_storeu_ps(args.scratch + (head + h) * padded + 16 * group_index, score);
    }
}

[[gnu::always_inline]] inline __mmask16 lanes(std::int64_t left) {
    return static_cast<__mmask16>(left >= 16 ? 0xFFFF : (1U << left) - 1);
}

inline float largest_score(const float* p, std::int64_t n) {
    __m512 largest = _mm512_set1_ps(-INFINITY);
    for (std::int64_t t = 0; t < n; t += 16) {
        largest = _mm512_mask_max_ps(largest, lanes(n - t), largest, _mm512_loadu_ps(p + t));
    }
    return _mm512_reduce_max_ps(largest);
}

// n scores become weights e^(s − top), those behind them in the last sixteen zero; returns their
// sum.
inline float exp_scores(float* p, std::int64_t n, float top) {
    __m512 sums = _mm512_setzero_ps();
    for (std::int64_t t = 0; t < n; t += 16) {
        const __m512 score = _mm512_sub_ps(_mm512_loadu_ps(p + t), _mm512_set1_ps(top));
        const __m512 weight = _mm512_maskz_mov_ps(lanes(n - t), avx512::exp(score));
        sums = _mm512_add_ps(sums, weight);
        _mm512_storeu_ps(p + t, weight);
    }
    return avx512::sum(sums);
}

// The weights of one head over a span of groups in two bytes each, with the positions' scales
// folded in; sixteen positions are spread so that lane 4g + i holds positions 4g … 4g + 3.
struct SpanWeights {
    alignas(64) std::uint8_t high[kSpan][64];
    alignas(64) std::uint8_t low[kSpan][64];
    float step = 0;  // what one step of the two bytes stands for
};

inline void spread(__m512i steps, std::uint8_t* out) {
    const __m512i places = _mm512_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3);
    const __m512i bytes = _mm512_castsi128_si512(_mm512_cvtepi32_epi8(steps));
    _mm512_storeu_si512(out, _mm512_permutexvar_epi32(places, bytes));
}

inline void weigh_span(const float* p, const std::byte* groups, std::int64_t width,
                       std::int64_t n_groups, std::int64_t n_positions, SpanWeights& out) {
    __m512 weights[kSpan];
    __m512 largest = _mm512_setzero_ps();
    for (std::int64_t g = 0; g < n_groups; ++g) {
        const float* scales = mla_q8::scales(groups + g * mla_q8::group_bytes(width), width);
        const __mmask16 mask = lanes(n_positions - 16 * g);
        weights[g] = _mm512_maskz_mul_ps(mask, _mm512_loadu_ps(p + 16 * g),
                                         _mm512_maskz_loadu_ps(mask, scales));
        largest = _mm512_max_ps(largest, weights[g]);
    }
    const float top = _mm512_reduce_max_ps(largest);
    out.step = top / kWeightSteps;
    const __m512 factor = _mm512_set1_ps(out.step > 0 ? kWeightSteps / top : 0.0F);
    const __m512i most = _mm512_set1_epi32(65535);
    for (std::int64_t g = 0; g < n_groups; ++g) {
        const __m512i steps =
            _mm512_min_epi32(_mm512_cvtps_epi32(_mm512_mul_ps(weights[g], factor)), most);
        spread(_mm512_srli_epi32(steps, 8), out.high[g]);
        spread(steps, out.low[g]);
    }
}

// Adds a span's weighted bytes to the sums [kN][kv_rank / 4] of 16 lanes: lane 4g + i belongs to
// column 4j + i, and its four g are added at the end.
template <int kN>
void add_span(const SpanWeights* weights, const std::byte* groups, std::int64_t width,
              std::int64_t n_groups, std::int64_t kv_rank, float* sums) {
    // In each quarter: four positions of four columns become four columns of four positions.
    const __m512i places =
        _mm512_broadcast_i32x4(_mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15));
    const __m512i top_bit = _mm512_set1_epi8(static_cast<char>(-128));  // +128 back to signed
    for (std::int64_t j = 0; j < kv_rank / 4; ++j) {
        __m512i high[kN];
        __m512i low[kN];
        for (int h = 0; h < kN; ++h) high[h] = low[h] = _mm512_setzero_si512();
#pragma GCC unroll 8
        for (std::int64_t g = 0; g < n_groups; ++g) {
            const std::byte* at = groups + g * mla_q8::group_bytes(width) + 64 * j;
            const __m512i v =
                _mm512_shuffle_epi8(_mm512_xor_si512(avx512::load(at), top_bit), places);
            for (int h = 0; h < kN; ++h) {
                high[h] = _mm512_dpbusd_epi32(high[h], avx512::load(weights[h].high[g]), v);
                low[h] = _mm512_dpbusd_epi32(low[h], avx512::load(weights[h].low[g]), v);
            }
        }
        for (int h = 0; h < kN; ++h) {
            float* sum = sums + h * 4 * kv_rank + 16 * j;
            const __m512 both = _mm512_fmadd_ps(_mm512_cvtepi32_ps(high[h]), _mm512_set1_ps(256.0F),
                                                _mm512_cvtepi32_ps(low[h]));
            const __m512 old = _mm512_loadu_ps(sum);
            _mm512_storeu_ps(sum, _mm512_fmadd_ps(both, _mm512_set1_ps(weights[h].step), old));
        }
    }
}

// A head's sums over their four g, divided by its weights' total.
inline void finish_head(const float* sums, float total, std::int64_t kv_rank, float* out) {
    const __m128 factor = _mm_set1_ps(1.0F / total);
    for (std::int64_t j = 0; j < kv_rank / 4; ++j) {
        const __m512 sum = _mm512_loadu_ps(sums + 16 * j);
        const __m256 half =
            _mm256_add_ps(_mm512_castps512_ps256(sum), _mm512_extractf32x8_ps(sum, 1));
        const __m128 four =
            _mm_add_ps(_mm256_castps256_ps128(half), _mm256_extractf128_ps(half, 1));
        _mm_storeu_ps(out + 4 * j, _mm_mul_ps(four, factor));
    }
}

// kN neighbouring heads, whose scores are in scratch.
template <int kN>
void weighted_sums(const MlaAttentionQ8::Args& args, std::int64_t head, std::int64_t padded) {
    const MlaQ8Shape& shape = args.shape;
    const std::int64_t width = shape.width();
    alignas(64) float sums[kN * 4 * kMaxRank];
    std::fill(sums, sums + kN * 4 * shape.kv_rank, 0.0F);
    SpanWeights weights[kN];
    float totals[kN];
    for (int h = 0; h < kN; ++h) {
        float* p = args.scratch + (head + h) * padded;
        totals[h] = exp_scores(p, shape.n_positions, largest_score(p, shape.n_positions));
    }
    for (std::int64_t first = 0; 16 * first < shape.n_positions; first += kSpan) {
        const std::int64_t left = shape.n_positions - 16 * first;
        const std::int64_t n_groups = std::min(kSpan, (left + 15) / 16);
        const std::byte* groups = args.cache + first * mla_q8::group_bytes(width);
        for (int h = 0; h < kN; ++h) {
            weigh_span(args.scratch + (head + h) * padded + 16 * first, groups, width, n_groups,
                       left, weights[h]);
        }
        add_span<kN>(weights, groups, width, n_groups, shape.kv_rank, sums);
    }
    for (int h = 0; h < kN; ++h) {
        finish_head(sums + h * 4 * shape.kv_rank, totals[h], shape.kv_rank,
                    args.out + (head + h) * shape.kv_rank);
    }
}

template <bool kTwoBytes>
void run(const MlaAttentionQ8::Args& args, Range range) noexcept {
    const std::int64_t n_groups = (args.shape.n_positions + 15) / 16;
    const std::int64_t padded = 16 * n_groups;
    Query queries[kMostHeads];
    for (std::int64_t begin = range.begin; begin < range.end; begin += kMostHeads) {
        const std::int64_t end = std::min(begin + kMostHeads, range.end);
        for (std::int64_t h = begin; h < end; ++h) prepare<kTwoBytes>(args, h, queries[h - begin]);
        for (std::int64_t g = 0; g < n_groups; ++g) {  // a group stays in the cache for all heads
            std::int64_t h = begin;
            for (; h + kHeads <= end; h += kHeads) {
                score_group<kHeads, kTwoBytes>(args, queries + h - begin, h, g, padded);
            }
            for (; h < end; ++h) score_group<1, kTwoBytes>(args, queries + h - begin, h, g, padded);
        }
    }
    std::int64_t head = range.begin;
    for (; head + kHeads <= range.end; head += kHeads) weighted_sums<kHeads>(args, head, padded);
    for (; head < range.end; ++head) weighted_sums<1>(args, head, padded);
}

KERNEL_TARGET_END

inline VariantOptions<MlaAttentionQ8> options(Input input, MlaAttentionQ8::Run run_heads) {
    return {.needs = cpu::avx512_vnni, .supports = supports, .input = input, .run = run_heads};
}

}  // namespace steady::mla_vnni
