// As mla_absorbed, but deep in a text the positions are cut into spans, and threads share the spans
// where they shared the heads: each thread takes its own part of the cache from memory instead of
// all of it, and the spans' outputs are joined at the end. How many spans there are depends on the
// position alone, so that the number of threads changes no bit. The cache keeps values, or two
// bytes of each.
#include <algorithm>
#include <array>
#include <cmath>

#include "engine/model/forward.h"
#include "engine/model/forward_parts.h"

namespace steady {
namespace {

// Positions of the shortest span: below twice of it there is one, and nothing to join. Tiles take
// the cache faster, and begin each span without what they fetch ahead.
template <class Op>
constexpr std::int64_t kSpanPositions = std::is_same_v<Op, MlaAttentionI8x2> ? 1024 : 512;
constexpr std::int64_t kSpanUnit = 32;  // positions that the kernels take together

// Bytes before a position in the cache, which begins a group.
template <class Op>
std::int64_t bytes_before(typename Op::Shape shape, std::int64_t position) {
    static_assert(kSpanUnit % Op::Codec::kGroup == 0);
    shape.n_positions = position;
    return Op::cache_bytes(shape);
}

template <class Op>
struct Spans {
    const Arm* arm = nullptr;
    typename Op::Args all{};  // the attention over all positions
    std::int64_t n = 1;       // spans
    std::int64_t length = 0;  // positions of each but the last
    float* out = nullptr;     // [n][heads][kv_rank]
    float* sums = nullptr;    // [n][heads][2]
};

template <class Op>
Spans<Op> cut_positions(Arm& arm, const typename Op::Args& all, std::int64_t lane = 0) {
    const std::int64_t positions = all.shape.n_positions;
    Spans<Op> spans{.arm = &arm, .all = all};
    const std::int64_t wanted =
        std::clamp(positions / kSpanPositions<Op>, std::int64_t{1}, kMostSpans);
    spans.length = (positions + wanted * kSpanUnit - 1) / (wanted * kSpanUnit) * kSpanUnit;
    spans.n = (positions + spans.length - 1) / spans.length;
    const std::int64_t rows = lane * kMostSpans * all.shape.n_heads;
    spans.out = arm.state.span_out.data() + rows * all.shape.kv_rank;
    spans.sums = arm.state.span_sums.data() + rows * 2;
    return spans;
}

// The attention over one span, with scratch of its own.
template <class Op>
typename Op::Args span_args(const Spans<Op>& spans, std::int64_t span) {
    typename Op::Args args = spans.all;
    const std::int64_t n_heads = args.shape.n_heads;
    const std::int64_t begin = span * spans.length;
    args.shape.n_positions = std::min(spans.length, args.shape.n_positions - begin);
    args.cache += bytes_before<Op>(args.shape, begin);
    args.scratch += n_heads * begin;
    args.out = spans.out + span * n_heads * args.shape.kv_rank;
    args.sums = spans.sums + span * n_heads * 2;
    return args;
}

// Row r is head r % heads of span r / heads.
template <class Op>
void run_spans(const void* self, Range rows) noexcept {
    const Spans<Op>& spans = *static_cast<const Spans<Op>*>(self);
    const std::int64_t n_heads = spans.all.shape.n_heads;
    for (std::int64_t r = rows.begin; r < rows.end;) {
        const std::int64_t span = r / n_heads;
        const std::int64_t end = std::min(rows.end, (span + 1) * n_heads);
        spans.arm->plan.template variant<Op>().run(span_args(spans, span),
                                                   {r - span * n_heads, end - span * n_heads, 0});
        r = end;
    }
}

// A head's outputs: the spans' weighted by their part of Σ e^score.
template <class Op>
void join_spans(const void* self, Range heads) noexcept {
    const Spans<Op>& spans = *static_cast<const Spans<Op>*>(self);
    const typename Op::Shape& shape = spans.all.shape;
    for (std::int64_t h = heads.begin; h < heads.end; ++h) {
        const auto sums_of = [&](std::int64_t i) {
            return spans.sums + 2 * (i * shape.n_heads + h);
        };
        float largest = -INFINITY;
        for (std::int64_t i = 0; i < spans.n; ++i) largest = std::max(largest, sums_of(i)[0]);
        float weights[kMostSpans];
        float total = 0;
        for (std::int64_t i = 0; i < spans.n; ++i) {
            weights[i] = sums_of(i)[1] * std::exp(sums_of(i)[0] - largest);
            total += weights[i];
        }
        float* out = spans.all.out + h * shape.kv_rank;
        for (std::int64_t i = 0; i < spans.n; ++i) {
            const float* part = spans.out + (i * shape.n_heads + h) * shape.kv_rank;
            const float weight = weights[i] / total;
            for (std::int64_t c = 0; c < shape.kv_rank; ++c) {
                out[c] = i == 0 ? weight * part[c] : out[c] + weight * part[c];
            }
        }
    }
}

template <class Op>
void attend_spans(Arm& arm, const typename Op::Args& all) {
    const Spans<Op> spans = cut_positions<Op>(arm, all);
    if (spans.n == 1) return launch<Op>(arm, all);
    const std::int64_t begin = arm.timed ? now_ns() : 0;
    const std::int64_t n_heads = all.shape.n_heads;
    // Heads of a span stay together, or in two halves where threads outnumber spans.
    const std::int64_t own = arm.plan.variant<Op>().granule;
    const std::int64_t granule = ((n_heads + 1) / 2 + own - 1) / own * own;
    const Job attend{run_spans<Op>, &spans, spans.n * n_heads, granule, 0};
    const Job join{join_spans<Op>, &spans, n_heads, 1, 0};
    const std::array stages{Stage{&attend, 1}, Stage{&join, 1}};
    arm.pool.launch(stages);
    count<Op>(arm, all, arm.timed ? now_ns() - begin : 0);
}

// The same on the calling thread.
template <class Op>
void attend_spans_whole(Arm& arm, const typename Op::Args& all, std::int64_t lane) {
    const Spans<Op> spans = cut_positions<Op>(arm, all, lane);
    const std::int64_t n_heads = all.shape.n_heads;
    if (spans.n == 1) return arm.plan.variant<Op>().run(all, {0, n_heads, 0});
    run_spans<Op>(&spans, {0, spans.n * n_heads, 0});
    join_spans<Op>(&spans, {0, n_heads, 0});
}

}  // namespace

template <class Op>
void mla_spans(Arm& arm, const Block& b, std::int64_t index, std::int64_t first) {
    static_assert(Op::kKeepsSums, "spans are joined by their sums");
    cache_latent(arm, index, first);
    absorb_query(arm, b, index);
    join_query(arm, index, arm.config.head_size(), arm.config.n_nope);
    attend<Op>(
        arm, index, first, [&](const typename Op::Args& all) { attend_spans<Op>(arm, all); },
        [&](const typename Op::Args& all, std::int64_t lane) {
            attend_spans_whole<Op>(arm, all, lane);
        });
    project_attended(arm, b, index);
}

template void mla_spans<MlaAttention>(Arm&, const Block&, std::int64_t, std::int64_t);
template void mla_spans<MlaAttentionI8x2>(Arm&, const Block&, std::int64_t, std::int64_t);

}  // namespace steady
