// Cases of the attention ops: one generator for all formats of the cache. To the relative error of
// each weight comes the chain over positions of the weighted sum; where a variant may round
// weights, half a step of each; and where it may leave out products of low bytes, those.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "kernels/attention/attention_op.h"
#include "kernels/cases/op_info.h"

namespace steady {

struct AttentionWeights {
    std::vector<double> weight;  // softmax over positions
    double error = 0;            // largest relative error of a weight
    double log_sum = 0;          // of e^s over positions
};

// One head: s[t] = scale · (q · rows[t]) for q [width] and rows [n_positions][width]. A score is
// off by at most γ·Σ|q·c| with a chain of width / 8 additions; that error, twice (numerator and
// normaliser), is a relative error of each weight, to which comes the exponential's.
AttentionWeights expect_attention(const double* q, const double* rows, std::int64_t n_positions,
                                  std::int64_t width, double scale);

// Appends the weighted sums of the first n_columns of rows [n_positions][width], and how far off
// they may be: by the weights' error and the chain over positions, and since a position's weight
// times its scale may be rounded to a `weight_steps`-th of the largest such product (0: it is not).
void expect_rounded_sums(const AttentionWeights& weights, const std::vector<double>& rows,
                         std::int64_t width, std::int64_t n_columns,
                         const std::vector<double>& scales, double weight_steps,
                         std::vector<double>& expected, std::vector<double>& bound);

// The largest share of a bound that outputs [n_heads][n_columns], followed by the logarithms of
// each head's Σ e^score, kept as `sums` [n_heads][2] (largest score, Σ e^(score − largest)), are
// off by.
double worst_attention_error(const float* out, std::int64_t n_columns, const float* sums,
                             std::int64_t n_heads, const std::vector<double>& expected,
                             const std::vector<double>& bound);

// What the attention reads of a cache, in plain numbers.
struct StoredRows {
    std::vector<double> keys;    // [n_positions][columns of a query], the values first
    std::vector<double> scales;  // of the latent parts
    std::vector<double> lows;    // [n_positions][kv_rank]: |low byte|, where products drop it
};

template <class Codec>
StoredRows read_rows(const std::byte* cache, const typename Codec::Shape& shape,
                     std::int64_t n_columns) {
    StoredRows stored;
    for (std::int64_t t = 0; t < shape.n_positions; ++t) {
        stored.scales.push_back(Codec::scale(cache, t, shape));
        for (std::int64_t c = 0; c < n_columns; ++c) {
            stored.keys.push_back(Codec::key(cache, t, c, shape));
        }
        if constexpr (Codec::kDropsLowBytes) {
            for (std::int64_t c = 0; c < shape.kv_rank; ++c) {
                stored.lows.push_back(std::abs(Codec::low_byte(cache, t, c, shape)));
            }
        }
    }
    return stored;
}

// By how much a sum may be off where weights' low bytes, at most 128, meet none of the cache's.
void allow_for_low_bytes(const AttentionWeights& weights, const StoredRows& stored,
                         double weight_steps, std::int64_t n_columns, double* bound);

template <class Codec>
std::vector<typename AttentionOp<Codec>::Shape> AttentionOp<Codec>::model_shapes() {
    std::vector<Shape> shapes{{20, 512, 64, 1},    {20, 512, 64, 128}, {20, 512, 64, 512},
                              {20, 512, 64, 2048}, {16, 512, 64, 128}, {16, 512, 64, 2048}};
    if constexpr (requires { Codec::more_model_shapes(); }) {
        for (const Shape& shape : Codec::more_model_shapes()) shapes.push_back(shape);
    }
    return shapes;
}

template <class Codec>
std::vector<typename AttentionOp<Codec>::Shape> AttentionOp<Codec>::odd_shapes(Random& random) {
    return Codec::odd_shapes(random);
}

template <class Codec>
Case<AttentionOp<Codec>> AttentionOp<Codec>::make_case(const Shape& shape, Random& random,
                                                       Input input) {
    Case<AttentionOp> made;
    const std::int64_t width = shape.width();
    const std::int64_t bytes = cache_bytes(shape);
    constexpr bool kFloatQuery = std::is_pointer_v<typename Codec::Query>;
    auto* cache = made.memory.template add<std::byte>(Role::weights, bytes);
    // Behind the last position lies what an earlier use left: its scale is no number at all.
    std::fill(cache, cache + bytes, std::byte{0xFF});
    std::vector<float> row(static_cast<std::size_t>(width));
    for (std::int64_t t = 0; t < shape.n_positions; ++t) {
        fill_activations(random, row.data(), width);
        Codec::store(cache, t, row.data(), shape);
    }
    Args& args = made.args;
    args.shape = shape;
    std::vector<double> queries;  // exact: what a variant may make of them, head by head
    if constexpr (kFloatQuery) {
        auto* q = made.memory.template add<float>(Role::input, shape.n_heads * width);
        fill_activations(random, q, shape.n_heads * width);
        for (std::int64_t h = 0; h < shape.n_heads; ++h) {
            const std::vector<double> one = Codec::query(shape, q + h * width);
            queries.insert(queries.end(), one.begin(), one.end());
        }
        args.q = q;
    } else {
        args.q = add_activation(made.memory, random, shape.n_heads * width);
        queries = values_of(args.q, shape.n_heads * width, input);
    }
    args.cache = cache;
    args.scale = 1.0F / std::sqrt(static_cast<float>(width));
    args.scratch =
        made.memory.template add<float>(Role::scratch, shape.n_heads * scratch_positions(shape));
    args.out = made.memory.template add<float>(Role::output, shape.n_heads * shape.kv_rank);
    if (kKeepsSums) args.sums = made.memory.template add<float>(Role::output, shape.n_heads * 2);
    const std::int64_t group = Codec::group_bytes(shape);
    made.weights.push_back({.shape = {bytes / group, group},
                            .row_bytes = group,
                            .data = cache,
                            .set = {},
                            .used = {{0, bytes / group, 0}}});
    const std::int64_t n_columns = static_cast<std::int64_t>(queries.size()) / shape.n_heads;
    const StoredRows stored = read_rows<Codec>(cache, shape, n_columns);
    std::vector<double> log_sums, log_bounds;
    for (std::int64_t h = 0; h < shape.n_heads; ++h) {
        const AttentionWeights scores =
            expect_attention(queries.data() + h * n_columns, stored.keys.data(), shape.n_positions,
                             n_columns, static_cast<double>(args.scale));
        expect_rounded_sums(scores, stored.keys, n_columns, shape.kv_rank, stored.scales,
                            Codec::kWeightSteps, made.expected, made.bound);
        if (!stored.lows.empty()) {
            allow_for_low_bytes(scores, stored, Codec::kWeightSteps, shape.kv_rank,
                                made.bound.data() + h * shape.kv_rank);
        }
        log_sums.push_back(scores.log_sum);
        const double chain = static_cast<double>(shape.n_positions) + 24;
        log_bounds.push_back(scores.error + (chain + 2 * std::fabs(scores.log_sum)) * kUnit);
    }
    if (kKeepsSums) {
        made.expected.insert(made.expected.end(), log_sums.begin(), log_sums.end());
        made.bound.insert(made.bound.end(), log_bounds.begin(), log_bounds.end());
    }
    return made;
}

// Of the outputs, and where sums are kept of each head's Σ e^score, by its logarithm.
template <class Codec>
double AttentionOp<Codec>::worst_error(const Case<AttentionOp>& test_case) {
    const Args& args = test_case.args;
    if (!kKeepsSums) return worst_ratio(args.out, test_case.expected, test_case.bound);
    return worst_attention_error(args.out, args.shape.kv_rank, args.sums, args.shape.n_heads,
                                 test_case.expected, test_case.bound);
}

}  // namespace steady
