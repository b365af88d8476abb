// Cases of the joined experts. As for mla_decode the plain computation is held by the tiny models'
// exact logits, a variant against it, and the bound is by norm: a share of the largest output for
// each rounding of a vector to bytes. Router logits lie apart, so that no near-tie decides.
#include "kernels/moe_decode/op.h"

#include <algorithm>
#include <cmath>

#include "kernels/cases/op_info.h"
#include "kernels/products/op.h"

namespace steady {

std::vector<MoeDecode::Shape> MoeDecode::model_shapes() {
    return {{12, 4, 2048, 1536, 1536, Type::q4_0, Type::q5_k},
            {8, 6, 2048, 1408, 2816, Type::q4_0, Type::q5_k}};
}

std::vector<MoeDecode::Shape> MoeDecode::odd_shapes(Random& random) {
    return {{8, 2, 128, 96, 96, Type::f32, Type::f32},
            {5, 5, 64, 32, 0, Type::q4_0, Type::q4_0},
            {9, 3, 256, 64, 512, Type::q8_0, Type::q6_k},
            {16, 1, 512, 256, 256, Type::q5_k, Type::q4_k},
            {7, 2, 96, 32 * random.integer(1, 6), 64, Type::q4_0, Type::f16}};
}

namespace {

void choose(const MoeDecode::Args& args, std::int32_t* ids, float* weights) {
    if (args.shape.n_used == 0) return;  // of a dense block
    const MoeRouter::Args router{{args.shape.n_experts, args.shape.n_used},
                                 args.logits,
                                 args.bias,
                                 args.gating,
                                 args.normalise,
                                 args.scale,
                                 ids,
                                 weights};
    find_variant<MoeRouter>("reference").variant->run(router, {0, 1, 0});
}

double dot(const AnyMatrix& m, std::int64_t row, const std::vector<double>& v) {
    return plain_dot(m.type, m.w + row * row_bytes(m.type, m.cols), v.data(), m.cols);
}

void plain_hidden(const MoeDecode::Args& args, Range range) {
    const MoeDecodeShape& s = args.shape;
    const auto v = plain_normed(args.x, args.norm, args.eps, s.cols);
    std::vector<std::int32_t> ids(static_cast<std::size_t>(s.n_used));
    std::vector<float> weights(ids.size());
    choose(args, ids.data(), weights.data());
    if (range.begin == 0) {  // the next phase's
        std::copy(ids.begin(), ids.end(), args.ids);
        std::copy(weights.begin(), weights.end(), args.weights);
    }
    for (std::int64_t r = range.begin; r < range.end; ++r) {
        const bool shared = r >= s.n_used * s.hidden;
        const std::int64_t row =
            shared ? r - s.n_used * s.hidden
                   : ids[static_cast<std::size_t>(r / s.hidden)] * s.hidden + r % s.hidden;
        const double gate = dot(shared ? args.shared_gate : args.gate, row, v);
        const double up = dot(shared ? args.shared_up : args.up, row, v);
        args.hidden[r] = static_cast<float>(gate / (1.0 + std::exp(-gate)) * up);
    }
}

void plain_down(const MoeDecode::Args& args, Range range) {
    const MoeDecodeShape& s = args.shape;
    const auto part = [&](std::int64_t first, std::int64_t n) {
        return std::vector<double>(args.hidden + first, args.hidden + first + n);
    };
    std::vector<std::vector<double>> hidden;
    for (std::int64_t e = 0; e < s.n_used; ++e) hidden.push_back(part(e * s.hidden, s.hidden));
    const auto of_shared = part(s.n_used * s.hidden, s.shared);
    for (std::int64_t c = range.begin; c < range.end; ++c) {
        double sum = s.shared > 0 ? dot(args.shared_down, c, of_shared) : 0.0;
        for (std::size_t e = 0; e < hidden.size(); ++e) {
            sum += static_cast<double>(args.weights[e]) *
                   dot(args.down, args.ids[e] * s.cols + c, hidden[e]);
        }
        args.x[c] = static_cast<float>(static_cast<double>(args.x[c]) + sum);
    }
}

}  // namespace

void plain_moe_decode(const MoeDecode::Args& args, Range range) {
    if (range.begin >= range.end) return;
    if (range.phase == 1) return plain_hidden(args, range);
    if (range.phase == 2) return plain_down(args, range);
    const auto v = plain_normed(args.x, args.norm, args.eps, args.shape.cols);
    for (std::int64_t e = range.begin; e < range.end; ++e) {
        args.logits[e] = static_cast<float>(dot(args.router, e, v));
    }
}

namespace {

// Puts the experts' logits well apart by giving each router row its share of the normed vector.
void fill_router(const MoeDecode::Args& args, Random& random, float* router) {
    const MoeDecodeShape& s = args.shape;
    const auto v = plain_normed(args.x, args.norm, args.eps, s.cols);
    double squares = 0;
    for (const double value : v) squares += value * value;
    std::vector<std::int64_t> order;
    for (std::int64_t e = 0; e < s.n_experts; ++e) {
        order.push_back(e);
        std::swap(order.back(), order[static_cast<std::size_t>(random.integer(0, e))]);
    }
    for (std::int64_t e = 0; e < s.n_experts; ++e) {
        const double wanted = 6.0 * static_cast<double>(order[static_cast<std::size_t>(e)]) /
                                  static_cast<double>(s.n_experts) -
                              3.0;
        for (std::int64_t c = 0; c < s.cols; ++c) {
            router[e * s.cols + c] =
                static_cast<float>(wanted * v[static_cast<std::size_t>(c)] / squares);
        }
    }
}

}  // namespace

Case<MoeDecode> MoeDecode::make_case(const Shape& shape, Random& random, Input input) {
    Case<MoeDecode> made;
    Args& args = made.args;
    args.shape = shape;
    args.eps = 1e-5F;
    args.gating = random.next() % 2 == 0 ? Gating::sigmoid : Gating::softmax;
    args.normalise = random.next() % 2 == 0;
    args.scale = args.normalise ? 1.8F : 1.0F;
    const auto vector = [&](Role role, std::int64_t n, float low, float high) {
        auto* values = made.memory.add<float>(role, n);
        for (std::int64_t i = 0; i < n; ++i) values[i] = random.uniform(low, high);
        return values;
    };
    args.x = vector(Role::in_out, shape.cols, -2, 2);
    args.norm = vector(Role::input, shape.cols, 0.5F, 1.5F);
    auto* bias = vector(Role::input, shape.n_experts, 0, 1e-3F);
    args.bias = args.gating == Gating::sigmoid ? bias : nullptr;
    auto* router = made.memory.add<float>(Role::weights, shape.n_experts * shape.cols);
    fill_router(args, random, router);
    const auto note = [&](Type type, std::int64_t rows, std::int64_t cols, std::byte* w) {
        made.weights.push_back(whole_matrix(type, rows, cols, w));
        return AnyMatrix{type, rows, cols, w};
    };
    const auto matrix = [&](Type type, std::int64_t rows, std::int64_t cols) {
        auto* w = made.memory.add<std::byte>(Role::weights, rows * row_bytes(type, cols));
        fill_weights(type, random, rows, cols, w);
        return note(type, rows, cols, w);
    };
    args.router =
        note(Type::f32, shape.n_experts, shape.cols, reinterpret_cast<std::byte*>(router));
    args.gate = matrix(shape.type, shape.n_experts * shape.hidden, shape.cols);
    args.up = matrix(shape.type, shape.n_experts * shape.hidden, shape.cols);
    args.down = matrix(shape.type, shape.n_experts * shape.cols, shape.hidden);
    if (shape.shared > 0) {
        args.shared_gate = matrix(shape.shared_type, shape.shared, shape.cols);
        args.shared_up = matrix(shape.shared_type, shape.shared, shape.cols);
        args.shared_down = matrix(shape.shared_type, shape.cols, shape.shared);
    }
    args.logits = made.memory.add<float>(Role::scratch, shape.n_experts);
    args.ids = made.memory.add<std::int32_t>(Role::scratch, shape.n_used);
    args.weights = made.memory.add<float>(Role::scratch, shape.n_used);
    args.hidden = made.memory.add<float>(Role::scratch, 2 * shape.n_hidden());

    const std::vector<float> before(args.x, args.x + shape.cols);
    for (int phase = 0; phase < phases; ++phase) {
        plain_moe_decode(args, {0, rows(shape, phase), phase});
    }
    double largest = 0, level = 0;
    for (std::size_t c = 0; c < before.size(); ++c) {
        largest = std::max(largest, static_cast<double>(std::fabs(args.x[c] - before[c])));
        level = std::max(level, static_cast<double>(std::fabs(args.x[c])));
    }
    const double share = input == Input::f32 ? 3e-5 : 4.0 / 127;
    for (std::size_t c = 0; c < before.size(); ++c) {
        made.expected.push_back(static_cast<double>(args.x[c]));
        made.bound.push_back(share * largest + 4 * kUnit * level);
        args.x[c] = before[c];
    }
    return made;
}

double MoeDecode::worst_error(const Case<MoeDecode>& test_case) {
    return worst_ratio(test_case.args.x, test_case.expected, test_case.bound);
}

static const RegisteredOp<MoeDecode> moe_decode_op;

}  // namespace steady
