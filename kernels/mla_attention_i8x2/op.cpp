// The cache's layout in plain code, and cases of the attention. Errors as in mla_attention_i16, and
// one more: where a weight is rounded, its low byte's products with low bytes may be missing.
#include "kernels/mla_attention_i8x2/op.h"

#include <cstring>

#include "kernels/cases/attention_case.h"
#include "kernels/cases/op_info.h"

namespace steady {
namespace mla_i8x2 {
namespace {

// The row of one position in a cache: where its columns' bytes and its parts' scales lie.
struct Place {
    std::int64_t group = 0;  // in bytes
    std::int64_t in_group = 0;
    std::int64_t kv_rank = 0, n_rot = 0;

    Place(std::int64_t position, std::int64_t latent, std::int64_t rotary)
        : group(position / kGroup * group_bytes(latent, rotary)),
          in_group(position % kGroup),
          kv_rank(latent),
          n_rot(rotary) {}
    std::int64_t high(std::int64_t c) const {
        const std::int64_t column = c < kv_rank ? c : blocks(kv_rank) * kColumns + c - kv_rank;
        return group + column / kColumns * 2 * kPlane + column % kColumns / 4 * 4 * kGroup +
               4 * in_group + column % 4;
    }
    std::int64_t low(std::int64_t c) const { return high(c) + kPlane; }
    std::int64_t scale(int part) const {
        return group + group_bytes(kv_rank, n_rot) + 4 * ((part - 2) * kGroup + in_group);
    }
};

}  // namespace

void store(std::byte* cache, std::int64_t position, const float* row, std::int64_t kv_rank,
           std::int64_t n_rot) {
    const Place place(position, kv_rank, n_rot);
    const float steps[2] = {step_of(row, kv_rank), step_of(row + kv_rank, n_rot)};
    for (std::int64_t c = 0; c < kv_rank + n_rot; ++c) {
        const Bytes value = rounded(row[c], steps[c < kv_rank ? 0 : 1]);
        cache[place.high(c)] = static_cast<std::byte>(value.high);
        cache[place.low(c)] = static_cast<std::byte>(value.low);
    }
    for (int part = 0; part < 2; ++part) {
        std::memcpy(cache + place.scale(part), &steps[part], sizeof steps[part]);
    }
}

void copy(std::byte* cache, std::int64_t from, std::int64_t to, std::int64_t kv_rank,
          std::int64_t n_rot) {
    const Place source(from, kv_rank, n_rot);
    const Place target(to, kv_rank, n_rot);
    for (std::int64_t c = 0; c < kv_rank + n_rot; ++c) {
        cache[target.high(c)] = cache[source.high(c)];
        cache[target.low(c)] = cache[source.low(c)];
    }
    for (int part = 0; part < 2; ++part) {
        std::memcpy(cache + target.scale(part), cache + source.scale(part), sizeof(float));
    }
}

Bytes bytes_at(const std::byte* cache, std::int64_t position, std::int64_t c, std::int64_t kv_rank,
               std::int64_t n_rot) {
    const Place place(position, kv_rank, n_rot);
    return {static_cast<std::int8_t>(cache[place.high(c)]),
            static_cast<std::int8_t>(cache[place.low(c)])};
}

float scale_at(const std::byte* cache, std::int64_t position, std::int64_t c, std::int64_t kv_rank,
               std::int64_t n_rot) {
    float scale = 0;
    std::memcpy(&scale, cache + Place(position, kv_rank, n_rot).scale(c < kv_rank ? 0 : 1),
                sizeof scale);
    return scale;
}

double value(const std::byte* cache, std::int64_t position, std::int64_t c, std::int64_t kv_rank,
             std::int64_t n_rot) {
    return static_cast<double>(scale_at(cache, position, c, kv_rank, n_rot)) *
           bytes_at(cache, position, c, kv_rank, n_rot).steps();
}

}  // namespace mla_i8x2

namespace {

// A head's query as it is rounded, then what its low bytes alone come to, negative.
std::vector<double> rounded_query(const MlaI8x2Shape& shape, const float* q) {
    std::vector<double> values, lows;
    for (std::int64_t c = 0; c < shape.width(); ++c) {
        const float step = c < shape.kv_rank ? mla_i8x2::step_of(q, shape.kv_rank)
                                             : mla_i8x2::step_of(q + shape.kv_rank, shape.n_rot);
        const mla_i8x2::Bytes bytes = mla_i8x2::rounded(q[c], step);
        values.push_back(static_cast<double>(step) * bytes.steps());
        lows.push_back(-static_cast<double>(step) * bytes.low);
    }
    values.insert(values.end(), lows.begin(), lows.end());
    return values;
}

// What the attention reads of a cache, in plain numbers.
struct Stored {
    std::vector<double> rows;    // [positions][2 · width]: values, then what low bytes come to
    std::vector<double> scales;  // of the latent parts
    std::vector<double> lows;    // [positions][kv_rank]: |low byte|
};

Stored read_cache(const std::byte* cache, const MlaI8x2Shape& shape) {
    Stored stored;
    const auto at = [&](const auto& of, std::int64_t t, std::int64_t c) {
        return of(cache, t, c, shape.kv_rank, shape.n_rot);
    };
    for (std::int64_t t = 0; t < shape.n_positions; ++t) {
        stored.scales.push_back(static_cast<double>(at(mla_i8x2::scale_at, t, 0)));
        for (std::int64_t c = 0; c < shape.width(); ++c) {
            stored.rows.push_back(at(mla_i8x2::value, t, c));
        }
        for (std::int64_t c = 0; c < shape.width(); ++c) {
            const int low = at(mla_i8x2::bytes_at, t, c).low;
            stored.rows.push_back(static_cast<double>(at(mla_i8x2::scale_at, t, c)) * low);
            if (c < shape.kv_rank) stored.lows.push_back(std::abs(low));
        }
    }
    return stored;
}

// By how much a sum may be off where weights' low bytes, at most 128, meet none of the cache's.
void allow_for_low_bytes(const AttentionWeights& weights, const Stored& stored,
                         std::int64_t n_columns, double* bound) {
    double largest = 0;
    for (std::size_t t = 0; t < stored.scales.size(); ++t) {
        largest = std::max(largest, weights.weight[t] * stored.scales[t]);
    }
    const auto n = static_cast<std::size_t>(n_columns);
    for (std::size_t i = 0; i < stored.lows.size(); ++i) {
        bound[i % n] += 128 * largest / mla_i8x2::kLargest * stored.lows[i];
    }
}

}  // namespace

std::vector<MlaAttentionI8x2::Shape> MlaAttentionI8x2::model_shapes() {
    return {{20, 512, 64, 1},    {20, 512, 64, 128}, {20, 512, 64, 512},
            {20, 512, 64, 2048}, {16, 512, 64, 128}, {16, 512, 64, 2048}};
}

std::vector<MlaAttentionI8x2::Shape> MlaAttentionI8x2::odd_shapes(Random& random) {
    return {{1, 1, 2, 1},
            {3, 40, 6, 5},
            {35, 64, 32, 17},
            {7, 32, 64, 331},
            {5, 512, 64, 7},
            {2, 1000, 40, 33},
            {random.integer(1, 40), random.integer(1, 700), 2 * random.integer(1, 64),
             random.integer(1, 400)}};
}

Case<MlaAttentionI8x2> MlaAttentionI8x2::make_case(const Shape& shape, Random& random,
                                                   Input /*input*/) {
    Case<MlaAttentionI8x2> made;
    const std::int64_t width = shape.width();
    const std::int64_t group = mla_i8x2::group_bytes(shape.kv_rank, shape.n_rot);
    const std::int64_t bytes = mla_i8x2::cache_bytes(shape.kv_rank, shape.n_rot, shape.n_positions);
    auto* q = made.memory.add<float>(Role::input, shape.n_heads * width);
    auto* cache = made.memory.add<std::byte>(Role::weights, bytes);
    fill_activations(random, q, shape.n_heads * width);
    // Behind the last position lies what an earlier use left: its scale is no number at all.
    std::fill(cache, cache + bytes, std::byte{0xFF});
    std::vector<float> row(static_cast<std::size_t>(width));
    for (std::int64_t t = 0; t < shape.n_positions; ++t) {
        fill_activations(random, row.data(), width);
        mla_i8x2::store(cache, t, row.data(), shape.kv_rank, shape.n_rot);
    }
    made.args = {
        .shape = shape,
        .q = q,
        .cache = cache,
        .scale = 1.0F / std::sqrt(static_cast<float>(width)),
        .scratch = made.memory.add<float>(Role::scratch, shape.n_heads * shape.n_positions),
        .out = made.memory.add<float>(Role::output, shape.n_heads * shape.kv_rank),
        .sums = made.memory.add<float>(Role::output, shape.n_heads * 2)};
    made.weights.push_back({.shape = {bytes / group, group},
                            .row_bytes = group,
                            .data = cache,
                            .set = {},
                            .used = {{0, bytes / group, 0}}});
    const Stored stored = read_cache(cache, shape);
    std::vector<double> log_sums, log_bounds;
    for (std::int64_t h = 0; h < shape.n_heads; ++h) {
        const std::vector<double> query = rounded_query(shape, q + h * width);
        const AttentionWeights scores =
            expect_attention(query.data(), stored.rows.data(), shape.n_positions, 2 * width,
                             static_cast<double>(made.args.scale));
        expect_rounded_sums(scores, stored.rows, 2 * width, shape.kv_rank, stored.scales,
                            mla_i8x2::kLargest, made.expected, made.bound);
        allow_for_low_bytes(scores, stored, shape.kv_rank, made.bound.data() + h * shape.kv_rank);
        log_sums.push_back(scores.log_sum);
        const double chain = static_cast<double>(shape.n_positions) + 24;
        log_bounds.push_back(scores.error + (chain + 2 * std::fabs(scores.log_sum)) * kUnit);
    }
    made.expected.insert(made.expected.end(), log_sums.begin(), log_sums.end());
    made.bound.insert(made.bound.end(), log_bounds.begin(), log_bounds.end());
    return made;
}

// Of the outputs, and of each head's Σ e^score, by its logarithm.
double MlaAttentionI8x2::worst_error(const Case<MlaAttentionI8x2>& test_case) {
    const Args& args = test_case.args;
    return worst_attention_error(args.out, args.shape.kv_rank, args.sums, args.shape.n_heads,
                                 test_case.expected, test_case.bound);
}

static const RegisteredOp<MlaAttentionI8x2> op;

}  // namespace steady
