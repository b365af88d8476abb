// Cases of the attention. To the relative error of each weight (attention_case.h) comes the chain
// over positions of the weighted sum.
#include "kernels/mla_attention/op.h"

#include <bit>
#include <cmath>
#include <cstring>

#include "kernels/cases/attention_case.h"
#include "kernels/cases/op_info.h"

namespace steady {

void mla_cache::store(Type type, const float* values, std::int64_t n, std::byte* out) noexcept {
    if (type == Type::f32) {
        std::memcpy(out, values, static_cast<std::size_t>(n) * sizeof(float));
        return;
    }
    for (std::int64_t i = 0; i < n; ++i) {
        std::uint16_t stored = float_to_half(values[i]).bits;
        if (type == Type::bf16) {
            const auto bits = std::bit_cast<std::uint32_t>(values[i]);
            const bool nan = (bits & 0x7FFFFFFFU) > 0x7F800000U;  // rounding could lose it
            stored = static_cast<std::uint16_t>(
                (nan ? bits | 0x400000U : bits + 0x7FFFU + (bits >> 16 & 1U)) >> 16);
        }
        std::memcpy(out + 2 * i, &stored, sizeof stored);
    }
}

std::vector<MlaAttention::Shape> MlaAttention::model_shapes() {
    return {{20, 512, 64, 1},
            {20, 512, 64, 128},
            {20, 512, 64, 512},
            {20, 512, 64, 2048},
            {16, 512, 64, 128},
            {16, 512, 64, 2048},
            {20, 512, 64, 2048, Type::f16},
            {20, 512, 64, 2048, Type::bf16}};
}

std::vector<MlaAttention::Shape> MlaAttention::odd_shapes(Random& random) {
    const MlaAttentionShape any{random.integer(1, 24), 16 * random.integer(1, 40),
                                2 * random.integer(1, 40), random.integer(1, 300)};
    std::vector<Shape> shapes;
    for (const Type cache : {Type::f32, Type::f16, Type::bf16}) {
        for (Shape shape : {Shape{1, 1, 2, 1}, Shape{3, 40, 6, 5}, Shape{7, 32, 16, 33},
                            Shape{5, 512, 64, 7}, any}) {
            shape.cache = cache;
            shapes.push_back(shape);
        }
    }
    return shapes;
}

Case<MlaAttention> MlaAttention::make_case(const Shape& shape, Random& random, Input /*input*/) {
    Case<MlaAttention> made;
    const std::int64_t width = shape.kv_rank + shape.n_rot;
    auto* q = made.memory.add<float>(Role::input, shape.n_heads * width);
    const std::int64_t n_cached = shape.n_positions * width;
    auto* cache = made.memory.add<std::byte>(Role::weights, n_cached * block_bytes(shape.cache));
    fill_activations(random, q, shape.n_heads * width);
    std::vector<float> cached(static_cast<std::size_t>(n_cached));
    fill_activations(random, cached.data(), n_cached);
    mla_cache::store(shape.cache, cached.data(), n_cached, cache);
    dequantize(shape.cache, cache, cached.data(), n_cached);  // what the rounding left
    made.args = {
        .shape = shape,
        .q = q,
        .cache = cache,
        .scale = 1.0F / std::sqrt(static_cast<float>(width)),
        .scratch = made.memory.add<float>(Role::scratch, shape.n_heads * shape.n_positions),
        .out = made.memory.add<float>(Role::output, shape.n_heads * shape.kv_rank),
        .sums = made.memory.add<float>(Role::output, shape.n_heads * 2)};
    made.weights.push_back({.shape = {shape.n_positions, width},
                            .row_bytes = row_bytes(shape.cache, width),
                            .data = cache,
                            .set = {},
                            .used = {{0, shape.n_positions, 0}}});
    const std::vector<double> all_q(q, q + shape.n_heads * width);
    const std::vector<double> rows(cached.begin(), cached.end());
    std::vector<double> log_sums;
    std::vector<double> log_sum_bounds;
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
                                    rows[static_cast<std::size_t>(t * width) + i];
                out[i] += term;
                magnitude[i] += std::fabs(term);
            }
        }
        for (std::size_t i = 0; i < out.size(); ++i) {
            made.expected.push_back(out[i]);
            made.bound.push_back((scores.error + chain * kUnit) * magnitude[i]);
        }
        log_sums.push_back(scores.log_sum);
        log_sum_bounds.push_back(scores.error + (chain + 2 * std::fabs(scores.log_sum)) * kUnit);
    }
    made.expected.insert(made.expected.end(), log_sums.begin(), log_sums.end());
    made.bound.insert(made.bound.end(), log_sum_bounds.begin(), log_sum_bounds.end());
    return made;
}

// Of the outputs, and of each head's Σ e^score, by its logarithm.
double MlaAttention::worst_error(const Case<MlaAttention>& test_case) {
    const Args& args = test_case.args;
    return worst_attention_error(args.out, args.shape.kv_rank, args.sums, args.shape.n_heads,
                                 test_case.expected, test_case.bound);
}

static const RegisteredOp<MlaAttention> op;

}  // namespace steady
