// Split KV: the positions are cut into four spans with a softmax and outputs of their own, joined
// at the end. Five heads share each row, as in avx512.
// Expected: a small loss here, where heads already outnumber threads and the join is extra work; it
// is the shape that would let more threads than heads share one token.
#include "kernels/mla_attention/tiles_avx512.h"

namespace steady {

KERNEL_TARGET_BEGIN(KERNEL_AVX512)
namespace {

constexpr int kSpans = 4;
constexpr std::int64_t kMaxRank = 1024;  // the spans' outputs live on the stack

// Adds a span's outputs to the head's, both brought to the larger of the two maxima.
void join(float* out, mla_avx512::Running& running, const float* span_out,
          const mla_avx512::Running& span, std::int64_t n) {
    if (span.total == 0) return;
    const float top = std::max(running.largest, span.largest);
    const float old_part = running.total == 0 ? 0.0F : std::exp(running.largest - top);
    const float new_part = std::exp(span.largest - top);
    for (std::int64_t i = 0; i < n; i += 16) {
        const __m512 old = running.total == 0 ? _mm512_setzero_ps() : _mm512_loadu_ps(out + i);
        const __m512 sum = _mm512_mul_ps(_mm512_loadu_ps(span_out + i), _mm512_set1_ps(new_part));
        _mm512_storeu_ps(out + i, _mm512_fmadd_ps(old, _mm512_set1_ps(old_part), sum));
    }
    running.total = running.total * old_part + span.total * new_part;
    running.largest = top;
}

template <int kN>
void attend(const MlaAttention::Args& args, std::int64_t head) {
    const MlaAttentionShape& shape = args.shape;
    alignas(64) float spans[kN * kMaxRank];
    float* out = args.out + head * shape.kv_rank;
    mla_avx512::Running running[kN];
    const std::int64_t step = (shape.n_positions + kSpans - 1) / kSpans;
    for (std::int64_t begin = 0; begin < shape.n_positions; begin += step) {
        const std::int64_t end = std::min(begin + step, shape.n_positions);
        mla_avx512::Running span[kN];
        mla_avx512::attend_span<kN, mla_avx512::Nothing>(args, head, begin, end, spans, span);
        for (int h = 0; h < kN; ++h) {
            join(out + h * shape.kv_rank, running[h], spans + h * shape.kv_rank, span[h],
                 shape.kv_rank);
        }
    }
    for (int h = 0; h < kN; ++h) mla_avx512::finish(args, head + h, running[h]);
}

void run(const MlaAttention::Args& args, Range range) noexcept {
    std::int64_t head = range.begin;
    for (; head + mla_avx512::kHeads <= range.end; head += mla_avx512::kHeads) {
        attend<mla_avx512::kHeads>(args, head);
    }
    for (; head < range.end; ++head) attend<1>(args, head);
}

bool supports_rank(const MlaAttentionShape& shape) {
    return mla_avx512::supports<>(shape) && shape.kv_rank <= kMaxRank;
}

}  // namespace
KERNEL_TARGET_END

static const Variant<MlaAttention> variant{
    "avx512_split_kv", {.needs = cpu::avx512, .supports = supports_rank, .run = run}};

}  // namespace steady
