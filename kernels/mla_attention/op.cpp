// Cases of the attention. To the relative error of each weight (attention_case.h) comes the chain
// over positions of the weighted sum.
#include "kernels/mla_attention/op.h"

#include <cmath>

#include "kernels/base/attention_case.h"
#include "kernels/base/op_info.h"

namespace steady {

std::vector<MlaAttention::Shape> MlaAttention::model_shapes() {
    return {{20, 512, 64, 1},    {20, 512, 64, 128}, {20, 512, 64, 512},
            {20, 512, 64, 2048}, {16, 512, 64, 128}, {16, 512, 64, 2048}};
}

std::vector<MlaAttention::Shape> MlaAttention::odd_shapes(Random& random) {
    return {{1, 1, 2, 1},
            {3, 40, 6, 5},
            {7, 32, 16, 33},
            {5, 512, 64, 7},
            {random.integer(1, 24), 16 * random.integer(1, 40), 2 * random.integer(1, 40),
             random.integer(1, 300)}};
}

Case<MlaAttention> MlaAttention::make_case(const Shape& shape, Random& random, Input /*input*/) {
    Case<MlaAttention> made;
    const std::int64_t width = shape.kv_rank + shape.n_rot;
    auto* q = made.memory.add<float>(Role::input, shape.n_heads * width);
    auto* cache = made.memory.add<float>(Role::weights, shape.n_positions * width);
    fill_activations(random, q, shape.n_heads * width);
    fill_activations(random, cache, shape.n_positions * width);
    made.args = {
        .shape = shape,
        .q = q,
        .cache = cache,
        .scale = 1.0F / std::sqrt(static_cast<float>(width)),
        .scratch = made.memory.add<float>(Role::scratch, shape.n_heads * shape.n_positions),
        .out = made.memory.add<float>(Role::output, shape.n_heads * shape.kv_rank)};
    made.weights.push_back({.shape = {shape.n_positions, width},
                            .row_bytes = 4 * width,
                            .data = reinterpret_cast<const std::byte*>(cache),
                            .set = {},
                            .used = {{0, shape.n_positions, 0}}});
    const std::vector<double> all_q(q, q + shape.n_heads * width);
    const std::vector<double> rows(cache, cache + shape.n_positions * width);
    for (std::int64_t h = 0; h < shape.n_heads; ++h) {
        const AttentionWeights scores =
            expect_attention(all_q.data() + h * width, rows.data(), shape.n_positions, width,
                             static_cast<double>(made.args.scale));
        const double chain = static_cast<double>(shape.n_positions) + 24;
        std::vector<double> out(static_cast<std::size_t>(shape.kv_rank), 0.0);
        std::vector<double> magnitude(out.size(), 0.0);
        for (std::int64_t t = 0; t < shape.n_positions; ++t) {
            for (std::size_t i = 0; i < out.size(); ++i) {
                const double term = scores.weight[static_cast<std::size_t>(t)] *
                                    static_cast<double>(cache[t * width + static_cast<long>(i)]);
                out[i] += term;
                magnitude[i] += std::fabs(term);
            }
        }
        for (std::size_t i = 0; i < out.size(); ++i) {
            made.expected.push_back(out[i]);
            made.bound.push_back((scores.error + chain * kUnit) * magnitude[i]);
        }
    }
    return made;
}

double MlaAttention::worst_error(const Case<MlaAttention>& test_case) {
    return worst_ratio(test_case.args.out, test_case.expected, test_case.bound);
}

static const RegisteredOp<MlaAttention> op;

}  // namespace steady
