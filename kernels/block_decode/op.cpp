// Cases of a whole block. The plain computation is that of the joined ops, which the tiny models'
// exact logits hold; a variant is held against it, by norm: a share of the largest change of x for
// the roundings of vectors to bytes on the way. Router logits lie apart, so that no near-tie
// decides; that wants x after attention, which is why the router is filled last.
#include "kernels/block_decode/op.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "kernels/cases/op_info.h"

namespace steady {

std::string BlockDecodeShape::problem() const {
    if (std::string why = attention().problem(); !why.empty()) return why;
    if (n_heads * n_value % block_values(type) != 0 || cols % block_values(type) != 0) {
        return "cols and n_heads * n_value must be multiples of the type's block";
    }
    if (!dense()) return experts().problem();
    if (n_used != 0 || hidden != 0) return "a dense block has no n_used and no hidden";
    return cols > 0 && shared > 0 && shared % block_values(shared_type) == 0
               ? ""
               : "cols and shared are required, shared a multiple of its type's block";
}

std::vector<BlockDecode::Shape> BlockDecode::model_shapes() {
    return {{2048, 20, 768, 192, 64, 256, 512, 40, Type::f16, Type::q4_0, 12, 4, 1536, Type::q4_0,
             1536, Type::q5_k},
            {2048, 20, 768, 192, 64, 256, 512, 700, Type::f16, Type::q4_0, 0, 0, 0, Type::q4_0,
             10240, Type::q4_0},
            {2048, 16, 0, 128, 64, 128, 512, 90, Type::bf16, Type::q4_0, 8, 6, 1408, Type::q4_0,
             2816, Type::q4_0}};
}

std::vector<BlockDecode::Shape> BlockDecode::odd_shapes(Random& random) {
    return {
        {256, 4, 128, 192, 64, 256, 512, random.integer(1, 200), Type::f32, Type::q4_0, 8, 2, 256,
         Type::q4_0, 256, Type::q5_k},
        {256, 3, 0, 64, 32, 128, 128, 1, Type::f16, Type::q8_0, 5, 5, 64, Type::q8_0, 0},
        {512, 2, 256, 64, 64, 128, 256, random.integer(1, 300), Type::bf16, Type::q8_0, 0, 0, 0,
         Type::q4_0, 768, Type::q6_k},
        {128, 4, 32, 32, 2, 24, 64, 9, Type::f32, Type::q4_0, 4, 1, 96, Type::f32, 32, Type::q4_0},
        {256, 2, 256, 128, 32, 128, 256, 33, Type::f32, Type::q4_0, 40, 3, 256, Type::q6_k, 512,
         Type::q8_0},
        // Deep in a text: fewer positions than blocks share, and more than they take at once.
        {256, 3, 64, 64, 64, 128, 512, random.integer(513, 600), Type::f16, Type::q8_0, 0, 0, 0,
         Type::q4_0, 64, Type::q8_0},
        {256, 2, 0, 32, 64, 128, 512, random.integer(8193, 8400), Type::bf16, Type::q4_0, 0, 0, 0,
         Type::q4_0, 64, Type::q4_0},
        // The same with experts and Q4_0 throughout, with all heads of a tile, and many tiles.
        {256, 3, 128, 192, 64, 256, 512, random.integer(1, 512), Type::f16, Type::q4_0, 12, 4, 128,
         Type::q4_0, 256, Type::q5_k},
        {256, 17, 64, 64, 64, 128, 512, random.integer(513, 600), Type::f16, Type::q4_0, 12, 4, 128,
         Type::q4_0, 256, Type::q5_k},
        {256, 3, 64, 64, 64, 128, 512, random.integer(8449, 8700), Type::f16, Type::q4_0, 0, 0, 0,
         Type::q4_0, 64, Type::q4_0}};
}

void BlockDecode::set_weight(Args& args, std::size_t index, const std::byte* w) {
    AnyMatrix* const all[] = {
        &args.first.m[0],        &args.first.m[1],          &args.attention.k_b,
        &args.attention.v_b,     &args.output.m[0],         &args.experts.shared_gate,
        &args.experts.shared_up, &args.experts.shared_down, &args.experts.gate,
        &args.experts.up,        &args.experts.down,        &args.experts.router,
        &args.attention.q_b};
    std::size_t n = 0;
    for (AnyMatrix* m : all) {
        if (m->present() && n++ == index) m->w = w;
    }
}

std::int64_t BlockDecode::scratch_floats(const Shape& s) {
    const auto bytes = [](std::int64_t n) { return (n + 31) / 32 * 12; };
    const auto rounded = [](std::int64_t n) { return (n + 3) / 4 * 4; };
    const std::int64_t groups = (s.cols + 15) / 16;
    return bytes(s.q_rank) + bytes(s.n_heads * s.n_value) + (1 + kCopies) * bytes(s.cols) +
           kCopies / 2 * bytes(s.n_hidden()) + rounded((s.q_rank + 15) / 16) +
           rounded((s.kv_rank + 15) / 16) + rounded(groups) + rounded(kCopies * groups) +
           rounded(kCopies * groups * s.n_experts) + kChosen;
}

std::int64_t BlockDecode::rows(const Shape& s, int phase) {
    const std::int64_t query = s.q_rank == 0 ? s.n_heads * (s.n_nope + s.n_rot) : s.q_rank;
    const std::int64_t of_phase[] = {
        query + s.kv_rank + s.n_rot, s.n_heads, s.cols, s.n_experts, s.n_hidden(), s.cols};
    return of_phase[phase];
}

Cost BlockDecode::cost(const Shape& s) {
    const std::int64_t products = rows(s, 0) * s.cols + s.cols * s.n_heads * s.n_value;
    Cost all = MlaDecode::cost(s.attention());
    const Cost experts = MoeDecode::cost(s.experts());
    all.weight_bytes += row_bytes(s.type, products) + experts.weight_bytes;
    all.other_bytes += 8 * s.cols + experts.other_bytes;
    all.flops += 2.0 * static_cast<double>(products) + experts.flops;
    return all;
}

void plain_block_decode(const BlockDecode::Args& args, Range range) {
    if (range.begin >= range.end) return;
    const auto products = [&](const Products::Args& of) {
        find_variant<Products>("reference").variant->run(of, {range.begin, range.end, 0});
    };
    switch (range.phase) {
        case 0:
            return products(args.first);
        case 1:
            return find_variant<MlaDecode>("reference")
                .variant->run(args.attention, {range.begin, range.end, 0});
        case 2:
            return products(args.output);
        default:
            return plain_moe_decode(args.experts, {range.begin, range.end, range.phase - 3});
    }
}

namespace {

// Makes a case's arguments, matrix by matrix.
struct Maker {
    Case<BlockDecode>& made;
    Random& random;

    float* floats(Role role, std::int64_t n, float low = -1, float high = 1) {
        auto* values = made.memory.add<float>(role, n);
        const bool filled = role == Role::input || role == Role::in_out;
        for (std::int64_t i = 0; filled && i < n; ++i) values[i] = random.uniform(low, high);
        return values;
    }
    AnyMatrix matrix(Type type, std::int64_t rows, std::int64_t cols) {
        auto* w = made.memory.add<std::byte>(Role::weights, rows * row_bytes(type, cols));
        fill_weights(type, random, rows, cols, w);
        made.weights.push_back(whole_matrix(type, rows, cols, w));
        return {type, rows, cols, w};
    }
};

void make_attention(Maker& maker, const BlockDecodeShape& s, BlockDecode::Args& args) {
    MlaDecode::Args& a = args.attention;
    a.shape = s.attention();
    a.eps = args.first.eps;
    a.scale = 1.0F / std::sqrt(static_cast<float>(a.shape.head_size()));
    a.kv_norm = maker.floats(Role::input, s.kv_rank, 0.5F, 1.5F);
    if (s.q_rank != 0) a.q_norm = maker.floats(Role::input, s.q_rank, 0.5F, 1.5F);
    const std::int64_t n_angles = s.n_positions * (s.n_rot / 2);
    auto* cos = maker.floats(Role::input, n_angles);
    auto* sin = maker.floats(Role::input, n_angles);
    for (std::int64_t i = 0; i < n_angles; ++i) {
        const float angle = maker.random.uniform(-3, 3);
        cos[i] = std::cos(angle);
        sin[i] = std::sin(angle);
    }
    a.cos = cos;
    a.sin = sin;
    auto* position = maker.made.memory.add<std::int32_t>(Role::input, 1);
    *position = static_cast<std::int32_t>(s.n_positions - 1);
    a.position = position;
    const std::int64_t width = a.shape.width(), stride = row_bytes(s.cache, width);
    a.cache = maker.made.memory.add<std::byte>(Role::in_out, s.n_positions * stride);
    std::vector<float> row(static_cast<std::size_t>(width));
    for (std::int64_t t = 0; t + 1 < s.n_positions; ++t) {
        for (float& value : row) value = maker.random.uniform(-1, 1);
        mla_cache::store(s.cache, row.data(), width, a.cache + t * stride);
    }
    a.q = args.first.y[0];
    a.kv = args.first.y[1];
    a.out = maker.floats(Role::scratch, s.n_heads * s.n_value);
    a.scratch = maker.floats(Role::scratch, MlaDecode::scratch_floats(a.shape));
}

void make_experts(Maker& maker, const BlockDecodeShape& s, BlockDecode::Args& args) {
    MoeDecode::Args& e = args.experts;
    e.shape = s.experts();
    e.x = args.output.y[0];
    e.norm = maker.floats(Role::input, s.cols, 0.5F, 1.5F);
    e.eps = args.first.eps;
    e.hidden = maker.floats(Role::scratch, 2 * s.n_hidden());
    if (s.shared > 0) {
        e.shared_gate = maker.matrix(s.shared_type, s.shared, s.cols);
        e.shared_up = maker.matrix(s.shared_type, s.shared, s.cols);
        e.shared_down = maker.matrix(s.shared_type, s.cols, s.shared);
    }
    if (s.dense()) return;
    e.gating = maker.random.next() % 2 == 0 ? Gating::sigmoid : Gating::softmax;
    e.normalise = maker.random.next() % 2 == 0;
    e.scale = e.normalise ? 1.8F : 1.0F;
    auto* bias = maker.floats(Role::input, s.n_experts, 0, 1e-3F);
    e.bias = e.gating == Gating::sigmoid ? bias : nullptr;
    e.gate = maker.matrix(s.expert_type, s.n_experts * s.hidden, s.cols);
    e.up = maker.matrix(s.expert_type, s.n_experts * s.hidden, s.cols);
    e.down = maker.matrix(s.expert_type, s.n_experts * s.cols, s.hidden);
    e.router = maker.matrix(Type::f32, s.n_experts, s.cols);
    e.logits = maker.floats(Role::scratch, s.n_experts);
    e.ids = maker.made.memory.add<std::int32_t>(Role::scratch, s.n_used);
    e.weights = maker.floats(Role::scratch, s.n_used);
}

void run_phases(const BlockDecode::Args& args, int first, int last) {
    for (int phase = first; phase <= last; ++phase) {
        plain_block_decode(args, {0, BlockDecode::rows(args.shape, phase), phase});
    }
}

// Logits well apart: each row of the router is its share of the normed vector that it meets.
void fill_block_router(const MoeDecode::Args& e, Random& random) {
    const MoeDecodeShape& s = e.shape;
    const auto v = plain_normed(e.x, e.norm, e.eps, s.cols);
    double squares = 0;
    for (const double value : v) squares += value * value;
    auto* router = reinterpret_cast<float*>(const_cast<std::byte*>(e.router.w));
    std::vector<std::int64_t> order;
    for (std::int64_t i = 0; i < s.n_experts; ++i) {
        order.push_back(i);
        std::swap(order.back(), order[static_cast<std::size_t>(random.integer(0, i))]);
    }
    for (std::int64_t i = 0; i < s.n_experts * s.cols; ++i) {
        const double place = static_cast<double>(order[static_cast<std::size_t>(i / s.cols)]);
        const double wanted = 6.0 * place / static_cast<double>(s.n_experts) - 3.0;
        router[i] = static_cast<float>(wanted * v[static_cast<std::size_t>(i % s.cols)] / squares);
    }
}

}  // namespace

Case<BlockDecode> BlockDecode::make_case(const Shape& shape, Random& random, Input input) {
    Case<BlockDecode> made;
    Maker maker{made, random};
    Args& args = made.args;
    args.shape = shape;
    const std::int64_t query = rows(shape, 0) - shape.kv_rank - shape.n_rot;
    float* x = maker.floats(Role::in_out, shape.cols, -2, 2);
    args.first.shape = {shape.type, rows(shape, 0), shape.cols, 2, 2};
    args.first.x = x;
    args.first.norm = maker.floats(Role::input, shape.cols, 0.5F, 1.5F);
    args.first.eps = 1e-5F;
    args.first.m = {maker.matrix(shape.type, query, shape.cols),
                    maker.matrix(shape.type, shape.kv_rank + shape.n_rot, shape.cols)};
    args.first.y = {maker.floats(Role::scratch, query),
                    maker.floats(Role::scratch, shape.kv_rank + shape.n_rot)};
    make_attention(maker, shape, args);
    args.attention.k_b = maker.matrix(shape.type, shape.n_heads * shape.kv_rank, shape.n_nope);
    args.attention.v_b = maker.matrix(shape.type, shape.n_heads * shape.n_value, shape.kv_rank);
    const std::int64_t values = shape.n_heads * shape.n_value;
    args.output.shape = {shape.type, shape.cols, values, 1, 1, 2};
    args.output.m[0] = maker.matrix(shape.type, shape.cols, values);
    args.output.y[0] = x;
    args.output.x = args.attention.out;
    args.output.residual = x;
    make_experts(maker, shape, args);
    if (shape.q_rank != 0) {
        args.attention.q_b =
            maker.matrix(shape.type, shape.n_heads * (shape.n_nope + shape.n_rot), shape.q_rank);
    }
    args.scratch = maker.floats(Role::scratch, scratch_floats(shape));

    const std::int64_t stride = row_bytes(shape.cache, shape.kv_rank + shape.n_rot);
    std::byte* own_row = args.attention.cache + (shape.n_positions - 1) * stride;
    const std::vector<float> before(x, x + shape.cols);
    run_phases(args, 0, 2);
    if (!shape.dense()) fill_block_router(args.experts, random);
    run_phases(args, 3, 5);
    double largest = 0, level = 0;
    for (std::size_t c = 0; c < before.size(); ++c) {
        largest = std::max(largest, static_cast<double>(std::fabs(x[c] - before[c])));
        level = std::max(level, static_cast<double>(std::fabs(x[c])));
    }
    // Through attention and then the feed-forward, which meets what attention lost.
    const double share = input == Input::f32 ? 1e-4 : 6.0 / 127;
    for (std::size_t c = 0; c < before.size(); ++c) {
        made.expected.push_back(static_cast<double>(x[c]));
        made.bound.push_back(share * largest + 4 * kUnit * level);
        x[c] = before[c];
    }
    std::memset(own_row, 0, static_cast<std::size_t>(stride));
    return made;
}

double BlockDecode::worst_error(const Case<BlockDecode>& test_case) {
    return worst_ratio(test_case.args.experts.x, test_case.expected, test_case.bound);
}

static const RegisteredOp<BlockDecode> block_decode_op;

}  // namespace steady
