// Three plain passes per head over the stored values: scores, softmax, weighted sum; every sum in
// double.
#include "kernels/layouts/attention_plain.h"
#include "kernels/mla_attention_i16/op.h"

namespace steady {
namespace {

// s[t] of one head, with its query as it is rounded.
void score(const MlaAttentionI16::Args& args, const float* q, float* scores) {
    const MlaI16Shape& shape = args.shape;
    const float steps[2] = {mla_i16::step_of(q, shape.kv_rank),
                            mla_i16::step_of(q + shape.kv_rank, shape.n_rot)};
    for (std::int64_t t = 0; t < shape.n_positions; ++t) {
        double sum = 0;
        for (std::int64_t c = 0; c < shape.width(); ++c) {
            const float step = steps[c < shape.kv_rank ? 0 : 1];
            sum += static_cast<double>(step) * mla_i16::rounded(q[c], step) *
                   mla_i16::value(args.cache, t, c, shape.kv_rank, shape.n_rot);
        }
        scores[t] = static_cast<float>(sum * static_cast<double>(args.scale));
    }
}

void run(const MlaAttentionI16::Args& args, Range range) noexcept {
    const MlaI16Shape& shape = args.shape;
    const std::int64_t n = shape.n_positions;
    const auto value = [&](std::int64_t t, std::int64_t c) {
        return mla_i16::value(args.cache, t, c, shape.kv_rank, shape.n_rot);
    };
    for (std::int64_t h = range.begin; h < range.end; ++h) {
        float* p = args.scratch + h * n;
        score(args, args.q + h * shape.width(), p);
        weighted_mean(p, n, value, shape.kv_rank, args.out + h * shape.kv_rank);
    }
}

}  // namespace

static const Variant<MlaAttentionI16> variant{"reference", {.run = run}};

}  // namespace steady
