// As mla_absorbed, but deep in a text the positions are cut into spans, and threads share the spans
// where they shared the heads: each thread takes its own part of the cache from memory instead of
// all of it, and the spans' outputs are joined at the end. How many spans there are depends on the
// position alone, so that the number of threads changes no bit.
#include <algorithm>
#include <array>
#include <cmath>

#include "engine/model/forward.h"
#include "engine/model/steps/steps_internal.h"

namespace steady {
namespace {

constexpr std::int64_t kSpanPositions =
    512;                                // below twice of it there is one span: nothing to join
constexpr std::int64_t kSpanUnit = 32;  // positions that the kernels take together

struct Spans {
    const Arm* arm = nullptr;
    MlaAttention::Args all{};  // the attention over all positions
    std::int64_t n = 1;        // spans
    std::int64_t length = 0;   // positions of each but the last
    float* out = nullptr;      // [n][heads][kv_rank]
    float* sums = nullptr;     // [n][heads][2]
};

Spans cut_positions(Arm& arm, const MlaAttention::Args& all) {
    const std::int64_t positions = all.shape.n_positions;
    Spans spans{.arm = &arm, .all = all};
    const std::int64_t wanted = std::clamp(positions / kSpanPositions, std::int64_t{1}, kMostSpans);
    spans.length = (positions + wanted * kSpanUnit - 1) / (wanted * kSpanUnit) * kSpanUnit;
    spans.n = (positions + spans.length - 1) / spans.length;
    spans.out = arm.state.span_out.data();
    spans.sums = arm.state.span_sums.data();
    return spans;
}

// The attention over one span, with scratch of its own.
MlaAttention::Args span_args(const Spans& spans, std::int64_t span) {
    MlaAttention::Args args = spans.all;
    const std::int64_t n_heads = args.shape.n_heads;
    const std::int64_t begin = span * spans.length;
    args.shape.n_positions = std::min(spans.length, args.shape.n_positions - begin);
    args.cache += begin * row_bytes(args.shape.cache, args.shape.kv_rank + args.shape.n_rot);
    args.scratch += n_heads * begin;
    args.out = spans.out + span * n_heads * args.shape.kv_rank;
    args.sums = spans.sums + span * n_heads * 2;
    return args;
}

// Row r is head r % heads of span r / heads.
void run_spans(const void* self, Range rows) noexcept {
    const Spans& spans = *static_cast<const Spans*>(self);
    const std::int64_t n_heads = spans.all.shape.n_heads;
    for (std::int64_t r = rows.begin; r < rows.end;) {
        const std::int64_t span = r / n_heads;
        const std::int64_t end = std::min(rows.end, (span + 1) * n_heads);
        const MlaAttention::Args args = span_args(spans, span);
        spans.arm->plan.variant<MlaAttention>().run(args,
                                                    {r - span * n_heads, end - span * n_heads, 0});
        r = end;
    }
}

// A head's outputs: the spans' weighted by their part of Σ e^score.
void join_spans(const void* self, Range heads) noexcept {
    const Spans& spans = *static_cast<const Spans*>(self);
    const MlaAttentionShape& shape = spans.all.shape;
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

}  // namespace

void mla_spans(Arm& arm, const Block& b, std::int64_t index, std::int64_t first) {
    cache_latent(arm, index, first);
    absorb_query(arm, b, index);
    join_query(arm, index, arm.config.head_size(), arm.config.n_nope);
    for (std::int64_t t = 0; t < arm.state.n; ++t) {
        const MlaAttention::Args all = attention_args(arm, index, first, t);
        const Spans spans = cut_positions(arm, all);
        if (spans.n == 1) {
            launch<MlaAttention>(arm, all);
            continue;
        }
        const std::int64_t begin = arm.timed ? now_ns() : 0;
        const std::int64_t n_heads = all.shape.n_heads;
        const std::int64_t granule = arm.plan.variant<MlaAttention>().granule;
        const Job attend{run_spans, &spans, spans.n * n_heads, granule, 0};
        const Job join{join_spans, &spans, n_heads, 1, 0};
        const std::array stages{Stage{&attend, 1}, Stage{&join, 1}};
        arm.pool.launch(stages);
        count<MlaAttention>(arm, all, arm.timed ? now_ns() - begin : 0);
    }
    project_attended(arm, b, index);
}

}  // namespace steady
