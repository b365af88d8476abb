// Three plain passes per head over the stored values: scores, softmax, weighted sum; every sum in
// double.
#include "kernels/layouts/attention_plain.h"
#include "kernels/mla_attention_i8x2/op.h"

namespace steady {
namespace {

// s[t] of one head, with its query as it is rounded.
void score(const MlaAttentionI8x2::Args& args, const float* q, float* scores) {
    const MlaI8x2Shape& shape = args.shape;
    const float steps[2] = {mla_i8x2::step_of(q, shape.kv_rank),
                            mla_i8x2::step_of(q + shape.kv_rank, shape.n_rot)};
    for (std::int64_t t = 0; t < shape.n_positions; ++t) {
        double sum = 0;
        for (std::int64_t c = 0; c < shape.width(); ++c) {
            const float step = steps[c < shape.kv_rank ? 0 : 1];
            const mla_i8x2::Bytes a = mla_i8x2::rounded(q[c], step);
            const mla_i8x2::Bytes b =
                mla_i8x2::bytes_at(args.cache, t, c, shape.kv_rank, shape.n_rot);
            const float scale = mla_i8x2::scale_at(args.cache, t, c, shape.kv_rank, shape.n_rot);
            sum += static_cast<double>(step) * static_cast<double>(scale) *
                   (a.steps() * b.steps() - a.low * b.low);
        }
        scores[t] = static_cast<float>(sum * static_cast<double>(args.scale));
    }
}

void run(const MlaAttentionI8x2::Args& args, Range range) noexcept {
    const MlaI8x2Shape& shape = args.shape;
    const std::int64_t n = shape.n_positions;
    const auto value = [&](std::int64_t t, std::int64_t c) {
        return mla_i8x2::value(args.cache, t, c, shape.kv_rank, shape.n_rot);
    };
    for (std::int64_t h = range.begin; h < range.end; ++h) {
        float* p = args.scratch + h * n;
        score(args, args.q + h * shape.width(), p);
        const float largest = *std::max_element(p, p + n);
        weighted_mean(p, n, value, shape.kv_rank, args.out + h * shape.kv_rank);
        double total = 0;
        for (std::int64_t t = 0; t < n; ++t) total += static_cast<double>(p[t]);
        args.keep_sums(h, largest, static_cast<float>(total));
    }
}

}  // namespace

static const Variant<MlaAttentionI8x2> variant{"reference", {.run = run}};

}  // namespace steady
