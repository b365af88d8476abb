// Three plain passes per head over the stored values: scores, softmax, weighted sum; every sum in
// double. The body of every attention op's reference.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/attention/attention_op.h"

namespace steady {

template <class Op>
void attend_plainly(const typename Op::Args& args, Range range) noexcept {
    using Codec = typename Op::Codec;
    const typename Op::Shape& shape = args.shape;
    const std::int64_t n = shape.n_positions;
    for (std::int64_t h = range.begin; h < range.end; ++h) {
        const std::vector<double> q = Codec::query(shape, head_query(args.q, h * shape.width()));
        float* p = args.scratch + h * Op::scratch_positions(shape);
        float largest = -INFINITY;
        for (std::int64_t t = 0; t < n; ++t) {
            double sum = 0;
            for (std::size_t c = 0; c < q.size(); ++c) {
                sum += q[c] * Codec::key(args.cache, t, static_cast<std::int64_t>(c), shape);
            }
            p[t] = static_cast<float>(sum * static_cast<double>(args.scale));
            largest = std::max(largest, p[t]);
        }
        double total = 0;
        for (std::int64_t t = 0; t < n; ++t) {
            const double weight =
                std::exp(static_cast<double>(p[t]) - static_cast<double>(largest));
            p[t] = static_cast<float>(weight);
            total += weight;
        }
        args.keep_sums(h, largest, static_cast<float>(total));
        for (std::int64_t c = 0; c < shape.kv_rank; ++c) {
            double sum = 0;
            for (std::int64_t t = 0; t < n; ++t) {
                sum += static_cast<double>(p[t]) * Codec::key(args.cache, t, c, shape);
            }
            args.out[h * shape.kv_rank + c] = static_cast<float>(sum / total);
        }
    }
}

}  // namespace steady
