// The cache's layout in plain code, and cases of the attention. Errors as in mla_attention, and one
// more: a position's weight times its scale, rounded to a 65535th of the largest, is off by at most
// half of that, wherever it meets a stored byte.
#include "kernels/mla_attention_q8/op.h"

#include <algorithm>
#include <cmath>

#include "kernels/cases/attention_case.h"
#include "kernels/cases/op_info.h"

namespace steady {
namespace mla_q8 {
namespace {

std::byte* byte_at(std::byte* cache, std::int64_t position, std::int64_t c, std::int64_t width) {
    return cache + position / kGroup * group_bytes(width) + c / 4 * 64 + position % kGroup * 4 +
           c % 4;
}

// Of the latent part (part 0) or the rotary part (kGroup).
std::byte* scale_at(std::byte* cache, std::int64_t position, std::int64_t part,
                    std::int64_t width) {
    return cache + position / kGroup * group_bytes(width) + kGroup * width +
           4 * (part + position % kGroup);
}

void store_part(std::byte* cache, std::int64_t position, const float* part, std::int64_t first,
                std::int64_t n, std::int64_t width, std::int64_t part_of_group) {
    float largest = 0;
    for (std::int64_t i = 0; i < n; ++i) largest = std::max(largest, std::fabs(part[i]));
    const float scale = largest / 127.0F;
    for (std::int64_t i = 0; i < n; ++i) {
        const float steps = scale > 0 ? std::nearbyint(part[i] / scale) : 0.0F;
        const int bounded = static_cast<int>(std::clamp(steps, -127.0F, 127.0F));
        *byte_at(cache, position, first + i, width) = static_cast<std::byte>(bounded + 128);
    }
    std::memcpy(scale_at(cache, position, part_of_group, width), &scale, sizeof scale);
}

}  // namespace

void store(std::byte* cache, std::int64_t position, const float* row, std::int64_t kv_rank,
           std::int64_t n_rot) {
    const std::int64_t width = kv_rank + n_rot;
    store_part(cache, position, row, 0, kv_rank, width, 0);
    store_part(cache, position, row + kv_rank, kv_rank, n_rot, width, kGroup);
}

void copy(std::byte* cache, std::int64_t from, std::int64_t to, std::int64_t width) {
    for (std::int64_t c = 0; c < width; ++c) {
        *byte_at(cache, to, c, width) = *byte_at(cache, from, c, width);
    }
    for (const std::int64_t part : {std::int64_t{0}, kGroup}) {
        std::memcpy(scale_at(cache, to, part, width), scale_at(cache, from, part, width), 4);
    }
}

double value(const std::byte* cache, std::int64_t position, std::int64_t c, std::int64_t kv_rank,
             std::int64_t n_rot) {
    const std::int64_t width = kv_rank + n_rot;
    const std::byte* group = cache + position / kGroup * group_bytes(width);
    const std::int64_t part = c < kv_rank ? 0 : kGroup;
    const float scale = scales(group, width)[part + position % kGroup];
    const auto stored = static_cast<int>(group[c / 4 * 64 + position % kGroup * 4 + c % 4]);
    return static_cast<double>(scale) * (stored - 128);
}

}  // namespace mla_q8

namespace {

// Of the latent parts.
std::vector<double> scales_of(const std::byte* cache, std::int64_t n_positions,
                              std::int64_t width) {
    std::vector<double> found;
    for (std::int64_t t = 0; t < n_positions; ++t) {
        const std::byte* group = cache + t / mla_q8::kGroup * mla_q8::group_bytes(width);
        const float* scales = mla_q8::scales(group, width);
        found.push_back(static_cast<double>(scales[t % mla_q8::kGroup]));
    }
    return found;
}

}  // namespace

std::vector<MlaAttentionQ8::Shape> MlaAttentionQ8::model_shapes() {
    return {{20, 512, 64, 1},    {20, 512, 64, 128}, {20, 512, 64, 512},
            {20, 512, 64, 2048}, {16, 512, 64, 128}, {16, 512, 64, 2048}};
}

std::vector<MlaAttentionQ8::Shape> MlaAttentionQ8::odd_shapes(Random& random) {
    return {{1, 32, 32, 1},
            {3, 64, 32, 17},
            {7, 32, 64, 131},
            {5, 512, 64, 7},
            {random.integer(1, 24), 32 * random.integer(1, 20), 32 * random.integer(1, 4),
             random.integer(1, 400)}};
}

Case<MlaAttentionQ8> MlaAttentionQ8::make_case(const Shape& shape, Random& random, Input input) {
    Case<MlaAttentionQ8> made;
    const std::int64_t width = shape.width();
    const std::int64_t bytes = mla_q8::cache_bytes(width, shape.n_positions);
    const std::int64_t padded =
        (shape.n_positions + mla_q8::kGroup - 1) / mla_q8::kGroup * mla_q8::kGroup;
    auto* cache = made.memory.add<std::byte>(Role::weights, bytes);
    // Behind the last position lies what an earlier use left: no number at all.
    std::fill(cache, cache + bytes, std::byte{0xFF});
    std::vector<float> row(static_cast<std::size_t>(width));
    std::vector<double> rows;
    for (std::int64_t t = 0; t < shape.n_positions; ++t) {
        fill_activations(random, row.data(), width);
        mla_q8::store(cache, t, row.data(), shape.kv_rank, shape.n_rot);
        for (std::int64_t c = 0; c < width; ++c) {
            rows.push_back(mla_q8::value(cache, t, c, shape.kv_rank, shape.n_rot));
        }
    }
    made.args = {.shape = shape,
                 .q = add_activation(made.memory, random, shape.n_heads * width),
                 .cache = cache,
                 .scale = 1.0F / std::sqrt(static_cast<float>(width)),
                 .scratch = made.memory.add<float>(Role::scratch, shape.n_heads * padded),
                 .out = made.memory.add<float>(Role::output, shape.n_heads * shape.kv_rank)};
    const std::int64_t group = mla_q8::group_bytes(width);
    made.weights.push_back({.shape = {bytes / group, group},
                            .row_bytes = group,
                            .data = cache,
                            .set = {},
                            .used = {{0, bytes / group, 0}}});
    const std::vector<double> q = values_of(made.args.q, shape.n_heads * width, input);
    const std::vector<double> scales = scales_of(cache, shape.n_positions, width);
    for (std::int64_t h = 0; h < shape.n_heads; ++h) {
        const AttentionWeights scores =
            expect_attention(q.data() + h * width, rows.data(), shape.n_positions, width,
                             static_cast<double>(made.args.scale));
        expect_rounded_sums(scores, rows, width, shape.kv_rank, scales, 65535, made.expected,
                            made.bound);
    }
    return made;
}

double MlaAttentionQ8::worst_error(const Case<MlaAttentionQ8>& test_case) {
    return worst_ratio(test_case.args.out, test_case.expected, test_case.bound);
}

static const RegisteredOp<MlaAttentionQ8> op;

}  // namespace steady
