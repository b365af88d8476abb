// Cases of a batch's experts. What is expected is op moe_decode's plain computation, token by
// token, and so are the bounds. A router of random weights puts logits well apart: of a few hundred
// choices none lies so near another that a float's rounding turns it.
#include "kernels/moe_batch/op.h"

#include <algorithm>
#include <cmath>

#include "kernels/cases/op_info.h"

namespace steady {

std::vector<MoeBatch::Shape> MoeBatch::model_shapes() {
    return {{{12, 4, 2048, 192, 128, Type::q4_0, Type::q8_0}, 40}};
}

std::vector<MoeBatch::Shape> MoeBatch::odd_shapes(Random& random) {
    return {{{8, 2, 128, 96, 96, Type::f32, Type::f32}, 3},
            {{5, 5, 64, 32, 0, Type::q4_0, Type::q4_0}, random.integer(65, 140)},
            {{9, 3, 256, 64, 512, Type::q8_0, Type::q6_k}, 7},
            {{16, 1, 512, 256, 256, Type::q5_k, Type::q4_k}, 1},
            {{3, 2, 64, 32, 64, Type::q4_0, Type::q4_0}, 300},
            {{7, 2, 96, 32 * random.integer(1, 6), 64, Type::q4_0, Type::f16}, 20}};
}

// Of the GPU's variant: the normed tokens, gate and up and hidden values, the experts' outputs, and
// which token lies where.
std::int64_t MoeBatch::scratch_bytes(const Shape& s) {
    const std::int64_t wide = std::max(s.n_used * s.hidden, s.shared);
    const std::int64_t of_token =
        6 * s.cols + 14 * wide + 4 * s.n_used * s.cols + s.n_used * (24 + 256) + 512;
    return s.n * of_token + 16 * s.n_experts + 16384;
}

Cost MoeBatch::cost(const Shape& s) {
    MoeDecodeShape all = s;  // every expert that may be chosen is read
    all.n_used = std::min(s.n_experts, s.n * s.n_used);
    Cost cost = MoeDecode::cost(all);
    const Cost one = MoeDecode::cost(s);
    cost.other_bytes = one.other_bytes * s.n;
    cost.flops = one.flops * static_cast<double>(s.n);
    return cost;
}

MoeDecode::Args experts_of(const MoeBatch::Args& args, std::int64_t t, float* hidden) {
    MoeDecode::Args one = args.first;
    const MoeBatchShape& s = args.shape;
    one.x += t * s.cols;
    one.logits += t * s.n_experts;
    one.ids += t * s.n_used;
    one.weights += t * s.n_used;
    one.hidden = hidden;
    return one;
}

namespace {

void fill_mixture(Case<MoeBatch>& made, Random& random) {
    const MoeBatchShape& s = made.args.shape;
    MoeDecode::Args& args = made.args.first;
    args.shape = s;
    args.eps = 1e-5F;
    args.gating = random.next() % 2 == 0 ? Gating::sigmoid : Gating::softmax;
    args.normalise = random.next() % 2 == 0;
    args.scale = args.normalise ? 1.8F : 1.0F;
    const auto vector = [&](Role role, std::int64_t n, float low, float high) {
        auto* values = made.memory.add<float>(role, n);
        for (std::int64_t i = 0; i < n; ++i) values[i] = random.uniform(low, high);
        return values;
    };
    const auto matrix = [&](Type type, std::int64_t rows, std::int64_t cols) {
        auto* w = made.memory.add<std::byte>(Role::weights, rows * row_bytes(type, cols));
        fill_weights(type, random, rows, cols, w);
        made.weights.push_back(whole_matrix(type, rows, cols, w));
        return AnyMatrix{type, rows, cols, w};
    };
    args.x = vector(Role::in_out, s.n * s.cols, -2, 2);
    args.norm = vector(Role::input, s.cols, 0.5F, 1.5F);
    auto* bias = vector(Role::input, s.n_experts, 0, 1e-3F);
    args.bias = args.gating == Gating::sigmoid ? bias : nullptr;
    args.router = matrix(Type::f32, s.n_experts, s.cols);
    args.gate = matrix(s.type, s.n_experts * s.hidden, s.cols);
    args.up = matrix(s.type, s.n_experts * s.hidden, s.cols);
    args.down = matrix(s.type, s.n_experts * s.cols, s.hidden);
    if (s.shared > 0) {
        args.shared_gate = matrix(s.shared_type, s.shared, s.cols);
        args.shared_up = matrix(s.shared_type, s.shared, s.cols);
        args.shared_down = matrix(s.shared_type, s.cols, s.shared);
    }
    args.logits = made.memory.add<float>(Role::scratch, s.n * s.n_experts);
    args.ids = made.memory.add<std::int32_t>(Role::scratch, s.n * s.n_used);
    args.weights = made.memory.add<float>(Role::scratch, s.n * s.n_used);
}

}  // namespace

Case<MoeBatch> MoeBatch::make_case(const Shape& shape, Random& random, Input input) {
    Case<MoeBatch> made;
    made.args.shape = shape;
    fill_mixture(made, random);
    made.args.scratch = made.memory.add<std::byte>(Role::scratch, scratch_bytes(shape));
    std::vector<float> hidden(static_cast<std::size_t>(2 * shape.n_hidden()));
    const double share = input == Input::f32 ? 3e-5 : 4.0 / 127;
    for (std::int64_t t = 0; t < shape.n; ++t) {
        const MoeDecode::Args one = experts_of(made.args, t, hidden.data());
        const std::vector<float> before(one.x, one.x + shape.cols);
        for (int phase = 0; phase < MoeDecode::phases; ++phase) {
            plain_moe_decode(one, {0, MoeDecode::rows(shape, phase), phase});
        }
        double largest = 0, level = 0;
        for (std::size_t c = 0; c < before.size(); ++c) {
            largest = std::max(largest, static_cast<double>(std::fabs(one.x[c] - before[c])));
            level = std::max(level, static_cast<double>(std::fabs(one.x[c])));
        }
        for (std::size_t c = 0; c < before.size(); ++c) {
            made.expected.push_back(static_cast<double>(one.x[c]));
            made.bound.push_back(share * largest + 4 * kUnit * level);
            one.x[c] = before[c];
        }
    }
    return made;
}

double MoeBatch::worst_error(const Case<MoeBatch>& test_case) {
    return worst_ratio(test_case.args.first.x, test_case.expected, test_case.bound);
}

static const RegisteredOp<MoeBatch> moe_batch_op;

}  // namespace steady
