// Cases of the joined attention. The plain computation itself is held by the tiny models' exact
// logits; here a variant is held against it. A bound through five products, a softmax and up to
// three roundings of vectors to bytes would be so wide that it guards nothing, so that this one is
// by norm: of the largest value of a head's output a share that each rounding may cost.
#include "kernels/mla_decode/op.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "kernels/cases/op_info.h"
#include "kernels/products/op.h"

namespace steady {

std::vector<MlaDecode::Shape> MlaDecode::model_shapes() {
    return {{20, 768, 192, 64, 256, 512, 1},
            {20, 768, 192, 64, 256, 512, 700},
            {20, 768, 192, 64, 256, 512, 700, Type::f16},
            {16, 0, 128, 64, 128, 512, 130, Type::bf16},
            {16, 1536, 128, 64, 128, 512, 33, Type::f16},
            {20, 768, 192, 64, 256, 512, 700, Type::f16, Type::q4_0, 1}};
}

std::vector<MlaDecode::Shape> MlaDecode::odd_shapes(Random& random) {
    return {{4, 96, 64, 32, 64, 128, 5, Type::f32, Type::f32},
            {3, 0, 64, 6, 40, 96, 17, Type::f16, Type::f16},
            {2, 32, 32, 2, 8, 32, 1, Type::bf16, Type::q8_0},
            {1, 256, 256, 64, 24, 256, 300, Type::f32, Type::q5_k},
            {5, 512, 256, 16, 16, 512, random.integer(1, 400), Type::f16, Type::q6_k},
            {2, 64, 32, 8, 16, 64, random.integer(1, 40), Type::f32, Type::q4_1},
            {3, 96, 32, 8, 40, 96, random.integer(1, 40), Type::f16, Type::q4_0, 1},
            {2, 64, 32, 8, 16, 64, 9, Type::f32, Type::f32, 1}};
}

namespace {

// A rotated pair, as op rope has it.
void rotate(std::vector<double>& v, std::int64_t first, std::int64_t n, const float* cos,
            const float* sin) {
    for (std::int64_t i = 0; i < n / 2; ++i) {
        double& a = v[static_cast<std::size_t>(first + 2 * i)];
        double& b = v[static_cast<std::size_t>(first + 2 * i + 1)];
        const double c = static_cast<double>(cos[i]), s = static_cast<double>(sin[i]);
        const double turned = a * c - b * s;
        b = a * s + b * c;
        a = turned;
    }
}

std::vector<double> product(const AnyMatrix& m, std::int64_t first, std::int64_t rows,
                            const std::vector<double>& v) {
    std::vector<double> y;
    const std::int64_t stride = row_bytes(m.type, m.cols);
    for (std::int64_t r = 0; r < rows; ++r) {
        y.push_back(plain_dot(m.type, m.w + (first + r) * stride, v.data(), m.cols));
    }
    return y;
}

// This token's row as the cache holds it.
std::vector<float> cached_row(const MlaDecode::Args& args, std::byte* bytes) {
    const MlaDecodeShape& s = args.shape;
    std::vector<double> row = plain_normed(args.kv, args.kv_norm, args.eps, s.kv_rank);
    row.insert(row.end(), args.kv + s.kv_rank, args.kv + s.width());
    const std::int64_t at = *args.position * (s.n_rot / 2);
    rotate(row, s.kv_rank, s.n_rot, args.cos + at, args.sin + at);
    std::vector<float> values(row.begin(), row.end());
    mla_cache::store(s.cache, values.data(), s.width(), bytes);
    dequantize(s.cache, bytes, values.data(), s.width());
    return values;
}

// The query of a head in latent space, with its rotated part.
std::vector<double> latent_query(const MlaDecode::Args& args, std::int64_t head) {
    const MlaDecodeShape& s = args.shape;
    std::vector<double> q, normed;
    if (s.q_rank != 0) {
        normed = plain_normed(args.q, args.q_norm, args.eps, s.q_rank);
        q = product(args.q_b, head * s.query_rows(), s.query_rows(), normed);
    } else {
        q.assign(args.q + head * s.head_size(), args.q + (head + 1) * s.head_size());
    }
    const std::int64_t at = *args.position * (s.n_rot / 2), first_rot = s.query_rows() - s.n_rot;
    rotate(q, first_rot, s.n_rot, args.cos + at, args.sin + at);
    std::vector<double> latent = product(args.k_b, head * s.kv_rank, s.kv_rank,
                                         s.folded == 1 ? normed : q);  // of q its first n_nope
    latent.insert(latent.end(), q.begin() + first_rot, q.end());
    return latent;
}

}  // namespace

void plain_mla_decode(const MlaDecode::Args& args, Range heads, float* out, std::byte* new_row) {
    const MlaDecodeShape& s = args.shape;
    const std::vector<float> own = cached_row(args, new_row);
    const std::int64_t n = *args.position + 1;
    const std::int64_t stride = row_bytes(s.cache, s.width());
    std::vector<float> row(own.size());
    for (std::int64_t h = heads.begin; h < heads.end; ++h) {
        const std::vector<double> q = latent_query(args, h);
        double largest = -INFINITY, total = 0;
        std::vector<double> sums(static_cast<std::size_t>(s.kv_rank), 0.0);
        for (std::int64_t t = 0; t < n; ++t) {
            // Another range may be writing this token's own row.
            if (t + 1 < n) {
                dequantize(s.cache, args.cache + t * stride, row.data(), s.width());
            }
            const std::vector<float>& values = t + 1 == n ? own : row;
            double score = 0;
            for (std::size_t i = 0; i < q.size(); ++i) {
                score += q[i] * static_cast<double>(values[i]);
            }
            score *= static_cast<double>(args.scale);
            const double next = std::max(largest, score);
            const double keep = std::exp(largest - next), weight = std::exp(score - next);
            largest = next;
            total = total * keep + weight;
            for (std::size_t i = 0; i < sums.size(); ++i) {
                sums[i] = sums[i] * keep + weight * static_cast<double>(values[i]);
            }
        }
        for (double& sum : sums) sum /= total;
        const auto y = product(args.v_b, h * s.n_value, s.n_value, sums);
        std::copy(y.begin(), y.end(), out + h * s.n_value);
    }
}

Case<MlaDecode> MlaDecode::make_case(const Shape& shape, Random& random, Input input) {
    Case<MlaDecode> made;
    Args& args = made.args;
    args.shape = shape;
    args.eps = 1e-5F;
    args.scale = 1.0F / std::sqrt(static_cast<float>(shape.head_size()));
    const auto vector = [&](std::int64_t n, float low, float high) {
        auto* values = made.memory.add<float>(Role::input, n);
        for (std::int64_t i = 0; i < n; ++i) values[i] = random.uniform(low, high);
        return values;
    };
    // Sizes as in a model: a weight of deviation 1 / √cols, so that a product keeps the size.
    const auto matrix = [&](Type type, std::int64_t rows, std::int64_t cols) {
        auto* w = made.memory.add<std::byte>(Role::weights, rows * row_bytes(type, cols));
        fill_weights(type, random, rows, cols, w);
        made.weights.push_back(whole_matrix(type, rows, cols, w));
        return AnyMatrix{type, rows, cols, w};
    };
    args.k_b = matrix(shape.key_type(), shape.n_heads * shape.kv_rank, shape.key_cols());
    args.v_b = matrix(shape.type, shape.n_heads * shape.n_value, shape.kv_rank);
    const bool ranked = shape.q_rank != 0;
    if (ranked) {
        args.q_b = matrix(shape.type, shape.n_heads * shape.query_rows(), shape.q_rank);
        args.q_norm = vector(shape.q_rank, 0.5F, 1.5F);
    }
    args.q = vector(ranked ? shape.q_rank : shape.n_heads * shape.head_size(), -1, 1);
    args.kv = vector(shape.width(), -1, 1);
    args.kv_norm = vector(shape.kv_rank, 0.5F, 1.5F);
    const std::int64_t n_angles = shape.n_positions * (shape.n_rot / 2);
    auto* cos = made.memory.add<float>(Role::input, n_angles);
    auto* sin = made.memory.add<float>(Role::input, n_angles);
    for (std::int64_t i = 0; i < n_angles; ++i) {
        const float angle = random.uniform(-3, 3);
        cos[i] = std::cos(angle);
        sin[i] = std::sin(angle);
    }
    args.cos = cos;
    args.sin = sin;
    auto* position = made.memory.add<std::int32_t>(Role::input, 1);
    *position = static_cast<std::int32_t>(shape.n_positions - 1);
    args.position = position;
    const std::int64_t stride = row_bytes(shape.cache, shape.width());
    auto* cache = made.memory.add<std::byte>(Role::in_out, shape.n_positions * stride);
    for (std::int64_t t = 0; t + 1 < shape.n_positions; ++t) {
        std::vector<float> row;
        for (std::int64_t i = 0; i < shape.width(); ++i) row.push_back(random.uniform(-1, 1));
        mla_cache::store(shape.cache, row.data(), shape.width(), cache + t * stride);
    }
    args.cache = cache;
    args.out = made.memory.add<float>(Role::output, shape.n_heads * shape.n_value);
    args.scratch = made.memory.add<float>(Role::scratch, scratch_floats(shape));
    std::vector<float> out(static_cast<std::size_t>(shape.n_heads * shape.n_value));
    std::vector<std::byte> new_row(static_cast<std::size_t>(stride));
    plain_mla_decode(args, {0, shape.n_heads, 0}, out.data(), new_row.data());
    // A rounding to bytes costs a value up to a 254th of its block's largest, a norm's share of
    // which survives a product; the query's is a change of scores besides.
    const double share = input == Input::f32 ? 2e-5 : 4.0 / 127;
    for (std::int64_t h = 0; h < shape.n_heads; ++h) {
        double largest = 0;
        const auto value = [&](std::int64_t i) {
            return static_cast<double>(out[static_cast<std::size_t>(h * shape.n_value + i)]);
        };
        for (std::int64_t i = 0; i < shape.n_value; ++i) {
            largest = std::max(largest, std::fabs(value(i)));
        }
        for (std::int64_t i = 0; i < shape.n_value; ++i) {
            made.expected.push_back(value(i));
            made.bound.push_back(share * largest + 1e-12);
        }
    }
    // The cache's new row: to a unit of its type, and never less than float's own roundings.
    std::vector<float> row(static_cast<std::size_t>(shape.width()));
    dequantize(shape.cache, new_row.data(), row.data(), shape.width());
    const double unit = shape.cache == Type::f32 ? 0 : shape.cache == Type::f16 ? 0x1p-10 : 0x1p-7;
    for (const float value : row) {
        made.expected.push_back(static_cast<double>(value));
        made.bound.push_back((unit + 1e-5) * (std::fabs(static_cast<double>(value)) + 1e-3));
    }
    return made;
}

double MlaDecode::worst_error(const Case<MlaDecode>& test_case) {
    const Args& args = test_case.args;
    const Shape& s = args.shape;
    std::vector<float> row(static_cast<std::size_t>(s.width()));
    const std::int64_t stride = row_bytes(s.cache, s.width());
    dequantize(s.cache, args.cache + (s.n_positions - 1) * stride, row.data(), s.width());
    std::vector<float> all(args.out, args.out + s.n_heads * s.n_value);
    all.insert(all.end(), row.begin(), row.end());
    return worst_ratio(all.data(), test_case.expected, test_case.bound);
}

static const RegisteredOp<MlaDecode> mla_decode_op;

}  // namespace steady
