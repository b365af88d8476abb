// Three plain passes per head over the stored values: scores, softmax, weighted sum; every sum in
// double.
#include "kernels/layouts/attention_plain.h"
#include "kernels/mla_attention_q8/op.h"

namespace steady {
namespace {

void run(const MlaAttentionQ8::Args& args, Range range) noexcept {
    const MlaQ8Shape& shape = args.shape;
    const std::int64_t n = shape.n_positions;
    const std::int64_t padded = (n + mla_q8::kGroup - 1) / mla_q8::kGroup * mla_q8::kGroup;
    const auto value = [&](std::int64_t t, std::int64_t c) {
        return mla_q8::value(args.cache, t, c, shape.kv_rank, shape.n_rot);
    };
    for (std::int64_t h = range.begin; h < range.end; ++h) {
        const float* q = args.q.f32 + h * shape.width();
        float* p = args.scratch + h * padded;
        for (std::int64_t t = 0; t < n; ++t) {
            double sum = 0;
            for (std::int64_t c = 0; c < shape.width(); ++c) {
                sum += static_cast<double>(q[c]) * value(t, c);
            }
            p[t] = static_cast<float>(sum * static_cast<double>(args.scale));
        }
        weighted_mean(p, n, value, shape.kv_rank, args.out + h * shape.kv_rank);
    }
}

}  // namespace

static const Variant<MlaAttentionQ8> variant{"reference", {.run = run}};

}  // namespace steady
