// Cases of a batch's attention. What is expected is op mla_decode's plain computation, token by
// token, and so are the bounds.
#include "kernels/mla_batch/op.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "kernels/cases/op_info.h"

namespace steady {

std::vector<MlaBatch::Shape> MlaBatch::model_shapes() {
    return {{{20, 768, 192, 64, 256, 512, 37, Type::f16}, 20},
            {{16, 0, 128, 64, 128, 512, 100, Type::bf16}, 9}};
}

std::vector<MlaBatch::Shape> MlaBatch::odd_shapes(Random& random) {
    return {{{4, 96, 64, 32, 64, 128, 5, Type::f32, Type::f32}, 5},
            {{3, 0, 64, 6, 40, 96, 17, Type::f16, Type::f16}, 3},
            {{2, 32, 32, 2, 8, 32, 2, Type::bf16, Type::q8_0}, 2},
            {{1, 256, 256, 64, 24, 256, 200, Type::f32, Type::q5_k}, random.integer(65, 90)},
            {{5, 512, 256, 16, 16, 512, random.integer(64, 200), Type::f16, Type::q6_k}, 14},
            {{2, 64, 32, 8, 16, 64, random.integer(60, 140), Type::f32, Type::q4_1}, 40}};
}

// Of the GPU's variant: the query before and behind its product, in latent space, the sums, and the
// cache as halves, each padded; twice the floats, where a matrix keeps floats.
std::int64_t MlaBatch::scratch_bytes(const Shape& s) {
    const std::int64_t head = 4 * s.head_size() + 6 * s.n_nope + 10 * s.kv_rank + 512;
    return s.n * (6 * s.q_rank + 512 + s.n_heads * head) + s.n_positions * 2 * (s.width() + 128) +
           8192;
}

MlaDecode::Args attention_of(const MlaBatch::Args& args, std::int64_t t,
                             const std::int32_t* position) {
    MlaDecode::Args one = args.first;
    const MlaBatchShape& s = args.shape;
    one.q += t * (s.q_rank != 0 ? s.q_rank : s.n_heads * s.head_size());
    one.kv += t * s.width();
    one.out += t * s.n_heads * s.n_value;
    one.position = position;
    return one;
}

namespace {

struct TokensFiller {
    Case<MlaBatch>& made;
    Random& random;

    float* vector(std::int64_t n, float low, float high) {
        auto* values = made.memory.add<float>(Role::input, n);
        for (std::int64_t i = 0; i < n; ++i) values[i] = random.uniform(low, high);
        return values;
    }
    AnyMatrix matrix(Type type, std::int64_t rows, std::int64_t cols) {
        auto* w = made.memory.add<std::byte>(Role::weights, rows * row_bytes(type, cols));
        fill_weights(type, random, rows, cols, w);
        made.weights.push_back(whole_matrix(type, rows, cols, w));
        return AnyMatrix{type, rows, cols, w};
    }
};

void fill_tokens(Case<MlaBatch>& made, Random& random) {
    const MlaBatchShape& s = made.args.shape;
    MlaDecode::Args& args = made.args.first;
    TokensFiller fill{made, random};
    args.shape = s;
    args.eps = 1e-5F;
    args.scale = 1.0F / std::sqrt(static_cast<float>(s.head_size()));
    args.k_b = fill.matrix(s.type, s.n_heads * s.kv_rank, s.n_nope);
    args.v_b = fill.matrix(s.type, s.n_heads * s.n_value, s.kv_rank);
    if (s.q_rank != 0) {
        args.q_b = fill.matrix(s.type, s.n_heads * s.head_size(), s.q_rank);
        args.q_norm = fill.vector(s.q_rank, 0.5F, 1.5F);
    }
    args.q = fill.vector(s.n * (s.q_rank != 0 ? s.q_rank : s.n_heads * s.head_size()), -1, 1);
    args.kv = fill.vector(s.n * s.width(), -1, 1);
    args.kv_norm = fill.vector(s.kv_rank, 0.5F, 1.5F);
    const std::int64_t n_angles = s.n_positions * (s.n_rot / 2);
    auto* cos = made.memory.add<float>(Role::input, n_angles);
    auto* sin = made.memory.add<float>(Role::input, n_angles);
    for (std::int64_t i = 0; i < n_angles; ++i) {
        const float angle = random.uniform(-3, 3);
        cos[i] = std::cos(angle);
        sin[i] = std::sin(angle);
    }
    args.cos = cos;
    args.sin = sin;
    const std::int64_t stride = row_bytes(s.cache, s.width());
    args.cache = made.memory.add<std::byte>(Role::in_out, s.n_positions * stride);
    std::vector<float> row(static_cast<std::size_t>(s.width()));
    for (std::int64_t t = 0; t < s.n_positions - s.n; ++t) {
        for (float& value : row) value = random.uniform(-1, 1);
        mla_cache::store(s.cache, row.data(), s.width(), args.cache + t * stride);
    }
    args.out = made.memory.add<float>(Role::output, s.n * s.n_heads * s.n_value);
}

// One token's outputs, within a share of each head's largest; then its row of the cache.
void expect_token(Case<MlaBatch>& made, const std::vector<float>& out, const std::byte* bytes,
                  double share) {
    const MlaBatchShape& s = made.args.shape;
    for (std::int64_t h = 0; h < s.n_heads; ++h) {
        const float* head = out.data() + h * s.n_value;
        double largest = 0;
        for (std::int64_t i = 0; i < s.n_value; ++i) {
            largest = std::max(largest, static_cast<double>(std::fabs(head[i])));
        }
        for (std::int64_t i = 0; i < s.n_value; ++i) {
            made.expected.push_back(static_cast<double>(head[i]));
            made.bound.push_back(share * largest + 1e-12);
        }
    }
    std::vector<float> row(static_cast<std::size_t>(s.width()));
    dequantize(s.cache, bytes, row.data(), s.width());
    const double unit = s.cache == Type::f32 ? 0 : s.cache == Type::f16 ? 0x1p-10 : 0x1p-7;
    for (const float value : row) {
        made.expected.push_back(static_cast<double>(value));
        made.bound.push_back((unit + 1e-5) * (std::fabs(static_cast<double>(value)) + 1e-3));
    }
}

}  // namespace

Case<MlaBatch> MlaBatch::make_case(const Shape& shape, Random& random, Input input) {
    Case<MlaBatch> made;
    made.args.shape = shape;
    fill_tokens(made, random);
    made.args.scratch = made.memory.add<std::byte>(Role::scratch, scratch_bytes(shape));
    const std::int64_t stride = row_bytes(shape.cache, shape.width());
    const std::int64_t before = shape.n_positions - shape.n;
    std::vector<float> out(static_cast<std::size_t>(shape.n_heads * shape.n_value));
    std::vector<std::byte> row(static_cast<std::size_t>(stride));
    for (std::int64_t t = 0; t < shape.n; ++t) {
        const auto position = static_cast<std::int32_t>(before + t);
        const MlaDecode::Args one = attention_of(made.args, t, &position);
        plain_mla_decode(one, {0, shape.n_heads, 0}, out.data(), row.data());
        std::memcpy(one.cache + position * stride, row.data(), row.size());
        expect_token(made, out, row.data(), input == Input::f32 ? 2e-5 : 4.0 / 127);
    }
    std::memset(made.args.first.cache + before * stride, 0,
                static_cast<std::size_t>(shape.n * stride));
    return made;
}

double MlaBatch::worst_error(const Case<MlaBatch>& test_case) {
    const MlaBatchShape& s = test_case.args.shape;
    const std::int64_t stride = row_bytes(s.cache, s.width());
    std::vector<float> all, row(static_cast<std::size_t>(s.width()));
    for (std::int64_t t = 0; t < s.n; ++t) {
        const MlaDecode::Args one = attention_of(test_case.args, t, nullptr);
        all.insert(all.end(), one.out, one.out + s.n_heads * s.n_value);
        dequantize(s.cache, one.cache + (s.n_positions - s.n + t) * stride, row.data(), s.width());
        all.insert(all.end(), row.begin(), row.end());
    }
    return worst_ratio(all.data(), test_case.expected, test_case.bound);
}

static const RegisteredOp<MlaBatch> mla_batch_op;

}  // namespace steady
