// Three plain passes per head over the stored values: scores, softmax, weighted sum; every sum in
// double. The values are read from the cache once for all heads. The body of every attention op's
// reference.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/attention/attention_op.h"

namespace steady {

// What each position's row gives a score's product with `columns` columns of a query, in order.
template <class Op>
std::vector<double> read_keys(const typename Op::Args& args, std::int64_t columns) {
    std::vector<double> keys(static_cast<std::size_t>(args.shape.n_positions * columns));
    double* at = keys.data();
    for (std::int64_t t = 0; t < args.shape.n_positions; ++t) {
        for (std::int64_t c = 0; c < columns; ++c) {
            *at++ = Op::Codec::key(args.cache, t, c, args.shape);
        }
    }
    return keys;
}

template <class Op>
void attend_plainly(const typename Op::Args& args, Range range) noexcept {
    using Codec = typename Op::Codec;
    const typename Op::Shape& shape = args.shape;
    const std::int64_t n = shape.n_positions;
    std::vector<double> keys, sums(static_cast<std::size_t>(shape.kv_rank));
    for (std::int64_t h = range.begin; h < range.end; ++h) {
        const std::vector<double> q = Codec::query(shape, head_query(args.q, h * shape.width()));
        const auto columns = static_cast<std::int64_t>(q.size());
        if (keys.empty()) keys = read_keys<Op>(args, columns);
        float* p = args.scratch + h * Op::scratch_positions(shape);
        float largest = -INFINITY;
        for (std::int64_t t = 0; t < n; ++t) {
            const double* key = keys.data() + t * columns;
            double sum = 0;
            for (const double value : q) sum += value * *key++;
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
        std::fill(sums.begin(), sums.end(), 0.0);
        for (std::int64_t t = 0; t < n; ++t) {
            const double* key = keys.data() + t * columns;
            for (double& sum : sums) sum += static_cast<double>(p[t]) * *key++;
        }
        for (std::int64_t c = 0; c < shape.kv_rank; ++c) {
            args.out[h * shape.kv_rank + c] =
                static_cast<float>(sums[static_cast<std::size_t>(c)] / total);
        }
    }
}

}  // namespace steady
