// The cache's layout in plain code, and cases of the attention. Errors as in mla_attention, and one
// more: a position's weight times its scale, rounded to a 16383rd of the largest, is off by at most
// half of that, wherever it meets a stored value.
#include "kernels/mla_attention_i16/op.h"

#include <cstring>

#include "kernels/cases/attention_case.h"
#include "kernels/cases/op_info.h"

namespace steady {
namespace mla_i16 {
namespace {

// Where column c of a position lies in the cache, in bytes.
std::int64_t value_at(std::int64_t position, std::int64_t c, std::int64_t width) {
    const std::int64_t in_group = position % kGroup;
    return position / kGroup * group_bytes(width) + in_group / 2 * 4 * width + 4 * c +
           2 * (in_group % 2);
}

// Where its scale of the latent (part 0) or rotary part (1) lies.
std::int64_t scale_at(std::int64_t position, int part, std::int64_t width) {
    return position / kGroup * group_bytes(width) + 2 * kGroup * width +
           4 * (part * kGroup + position % kGroup);
}

}  // namespace

void store(std::byte* cache, std::int64_t position, const float* row, std::int64_t kv_rank,
           std::int64_t n_rot) {
    const std::int64_t width = kv_rank + n_rot;
    const float steps[2] = {step_of(row, kv_rank), step_of(row + kv_rank, n_rot)};
    std::byte* at = cache + value_at(position, 0, width);
    for (std::int64_t c = 0; c < width; ++c) {
        const std::int16_t value = rounded(row[c], steps[c < kv_rank ? 0 : 1]);
        std::memcpy(at + 4 * c, &value, sizeof value);
    }
    for (int part = 0; part < 2; ++part) {
        std::memcpy(cache + scale_at(position, part, width), &steps[part], sizeof steps[part]);
    }
}

void copy(std::byte* cache, std::int64_t from, std::int64_t to, std::int64_t width) {
    for (std::int64_t c = 0; c < width; ++c) {
        std::memcpy(cache + value_at(to, c, width), cache + value_at(from, c, width), 2);
    }
    for (int part = 0; part < 2; ++part) {
        std::memcpy(cache + scale_at(to, part, width), cache + scale_at(from, part, width), 4);
    }
}

double value(const std::byte* cache, std::int64_t position, std::int64_t c, std::int64_t kv_rank,
             std::int64_t n_rot) {
    const std::int64_t width = kv_rank + n_rot;
    std::int16_t stored = 0;
    float scale = 0;
    std::memcpy(&stored, cache + value_at(position, c, width), sizeof stored);
    std::memcpy(&scale, cache + scale_at(position, c < kv_rank ? 0 : 1, width), sizeof scale);
    return static_cast<double>(scale) * stored;
}

}  // namespace mla_i16

namespace {

// A head's query as it is rounded.
std::vector<double> rounded_query(const MlaI16Shape& shape, const float* q) {
    std::vector<double> values;
    for (std::int64_t c = 0; c < shape.width(); ++c) {
        const float step = c < shape.kv_rank ? mla_i16::step_of(q, shape.kv_rank)
                                             : mla_i16::step_of(q + shape.kv_rank, shape.n_rot);
        values.push_back(static_cast<double>(step) * mla_i16::rounded(q[c], step));
    }
    return values;
}

// Of the latent parts.
std::vector<double> scales_of(const std::byte* cache, std::int64_t n_positions,
                              std::int64_t width) {
    std::vector<double> found;
    for (std::int64_t t = 0; t < n_positions; ++t) {
        const std::byte* group = cache + t / mla_i16::kGroup * mla_i16::group_bytes(width);
        const float* scales = mla_i16::scales(group, width);
        found.push_back(static_cast<double>(scales[t % mla_i16::kGroup]));
    }
    return found;
}

}  // namespace

std::vector<MlaAttentionI16::Shape> MlaAttentionI16::model_shapes() {
    return {{20, 512, 64, 1},    {20, 512, 64, 128}, {20, 512, 64, 512},
            {20, 512, 64, 2048}, {16, 512, 64, 128}, {16, 512, 64, 2048}};
}

std::vector<MlaAttentionI16::Shape> MlaAttentionI16::odd_shapes(Random& random) {
    return {{1, 1, 2, 1},
            {3, 40, 6, 5},
            {3, 64, 32, 17},
            {7, 32, 64, 131},
            {5, 512, 64, 7},
            {2, 1000, 40, 33},
            {random.integer(1, 24), 8 * random.integer(1, 80), 8 * random.integer(1, 16),
             random.integer(1, 400)}};
}

Case<MlaAttentionI16> MlaAttentionI16::make_case(const Shape& shape, Random& random,
                                                 Input /*input*/) {
    Case<MlaAttentionI16> made;
    const std::int64_t width = shape.width();
    const std::int64_t bytes = mla_i16::cache_bytes(width, shape.n_positions);
    auto* q = made.memory.add<float>(Role::input, shape.n_heads * width);
    auto* cache = made.memory.add<std::byte>(Role::weights, bytes);
    fill_activations(random, q, shape.n_heads * width);
    // Behind the last position lies what an earlier use left: its scale is no number at all.
    std::fill(cache, cache + bytes, std::byte{0xFF});
    std::vector<float> row(static_cast<std::size_t>(width));
    std::vector<double> rows;
    for (std::int64_t t = 0; t < shape.n_positions; ++t) {
        fill_activations(random, row.data(), width);
        mla_i16::store(cache, t, row.data(), shape.kv_rank, shape.n_rot);
        for (std::int64_t c = 0; c < width; ++c) {
            rows.push_back(mla_i16::value(cache, t, c, shape.kv_rank, shape.n_rot));
        }
    }
    made.args = {
        .shape = shape,
        .q = q,
        .cache = cache,
        .scale = 1.0F / std::sqrt(static_cast<float>(width)),
        .scratch = made.memory.add<float>(Role::scratch, shape.n_heads * shape.n_positions),
        .out = made.memory.add<float>(Role::output, shape.n_heads * shape.kv_rank)};
    const std::int64_t group = mla_i16::group_bytes(width);
    made.weights.push_back({.shape = {bytes / group, group},
                            .row_bytes = group,
                            .data = cache,
                            .set = {},
                            .used = {{0, bytes / group, 0}}});
    const std::vector<double> scales = scales_of(cache, shape.n_positions, width);
    for (std::int64_t h = 0; h < shape.n_heads; ++h) {
        const std::vector<double> query = rounded_query(shape, q + h * width);
        const AttentionWeights scores =
            expect_attention(query.data(), rows.data(), shape.n_positions, width,
                             static_cast<double>(made.args.scale));
        expect_rounded_sums(scores, rows, width, shape.kv_rank, scales, mla_i16::kLargestWeight,
                            made.expected, made.bound);
    }
    return made;
}

double MlaAttentionI16::worst_error(const Case<MlaAttentionI16>& test_case) {
    return worst_ratio(test_case.args.out, test_case.expected, test_case.bound);
}

static const RegisteredOp<MlaAttentionI16> op;

}  // namespace steady
