// Cases of the joined products. Where a variant rounds the prepared vector to bytes, a value may be
// off by half a step of its block, which a product multiplies by its weight; to that comes the
// chain of additions, as for a matvec, and what the norm or the gate lost.
#include "kernels/products/op.h"

#include <algorithm>
#include <cmath>

#include "kernels/cases/op_info.h"

namespace steady {

std::vector<Products::Shape> Products::model_shapes() {
    return {{Type::q4_0, 1344, 2048, 2, 2},      // attn_q_a and attn_kv_a of GLM-4.7-Flash, alike
            {Type::q4_0, 2048, 5120, 1, 1, 2},   // attn_output
            {Type::q4_0, 2048, 10240, 1, 3, 2},  // ffn_down
            {Type::q6_k, 4096, 2048, 1, 2},      // of the output matrix
            {Type::f32, 64, 2048, 1, 2}};        // the router
}

std::vector<Products::Shape> Products::odd_shapes(Random& random) {
    std::vector<Shape> shapes;
    for (const Type type : kAllTypes) {
        const std::int64_t block = block_values(type) == 1 ? 4 : block_values(type);
        shapes.push_back({type, 3, block, 1, 1});
        const std::int64_t n = random.integer(1, 3);
        shapes.push_back({type, n * random.integer(1, 70), block * random.integer(1, 9), n,
                          random.integer(1, 3), n == 1 ? 2 : 1});
    }
    shapes.push_back({Type::f32, 5, 7, 1, 2});
    return shapes;
}

namespace {

constexpr std::int64_t kStep = 256;

// The largest errors of v that a right variant may make, and the sums they grow with.
struct Rounding {
    std::vector<double> of_value;
};

Rounding rounding_of(const std::vector<double>& v, Input input, bool prepared) {
    Rounding rounding;
    const double n = static_cast<double>(v.size());
    for (std::size_t b = 0; b < v.size(); b += 32) {
        const std::size_t end = std::min(v.size(), b + 32);
        double largest = 0;
        for (std::size_t i = b; i < end; ++i) largest = std::max(largest, std::fabs(v[i]));
        const double half_step = input == Input::f32 ? 0 : largest / 127 * 0.501;
        for (std::size_t i = b; i < end; ++i) {
            const double own = prepared ? (n / 16 + 24) * kUnit * std::fabs(v[i]) : 0;
            rounding.of_value.push_back(half_step + own);
        }
    }
    return rounding;
}

}  // namespace

Case<Products> Products::make_case(const Shape& shape, Random& random, Input input) {
    Case<Products> made;
    Args& args = made.args;
    args.shape = shape;
    args.eps = 1e-5F;
    const auto vector = [&](std::int64_t n) {
        auto* values = made.memory.add<float>(Role::input, n);
        fill_activations(random, values, n);
        return values;
    };
    args.x = vector(shape.cols);
    if (shape.input == 2) args.norm = vector(shape.cols);
    if (shape.input == 3) args.up = vector(shape.cols);
    if (shape.residual == 2) args.residual = vector(shape.rows);
    std::vector<double> v(args.x, args.x + shape.cols);
    if (shape.input == 2) v = plain_normed(args.x, args.norm, args.eps, shape.cols);
    if (shape.input == 3) v = plain_gated(args.x, args.up, shape.cols);
    const Rounding rounding = rounding_of(v, input, shape.input != 1);
    const std::int64_t rows = shape.rows / shape.matrices;
    const std::int64_t stride = row_bytes(shape.type, shape.cols);
    std::vector<float> weights(static_cast<std::size_t>(shape.cols));
    for (std::int64_t i = 0; i < shape.matrices; ++i) {
        auto* w = made.memory.add<std::byte>(Role::weights, rows * stride);
        fill_weights(shape.type, random, rows, shape.cols, w);
        const auto at = static_cast<std::size_t>(i);
        args.m[at] = {shape.type, rows, shape.cols, w};
        args.y[at] = made.memory.add<float>(Role::output, rows);
        made.weights.push_back(whole_matrix(shape.type, rows, shape.cols, w));
        for (std::int64_t r = 0; r < rows; ++r) {
            dequantize(shape.type, w + r * stride, weights.data(), shape.cols);
            double sum = 0, off = 0, magnitude = 0;
            for (std::size_t c = 0; c < v.size(); ++c) {
                const double weight = static_cast<double>(weights[c]);
                sum += weight * v[c];
                off += std::fabs(weight) * rounding.of_value[c];
                magnitude += std::fabs(weight * v[c]);
            }
            // Parts of w = d·q − m may be summed apart: eight times the magnitude covers them.
            const double chain = static_cast<double>(shape.cols) / 8 + 32;
            const double before =
                args.residual != nullptr ? static_cast<double>(args.residual[r]) : 0.0;
            made.expected.push_back(before + sum);
            made.bound.push_back(off + 8 * chain * kUnit * magnitude +
                                 2 * kUnit * std::fabs(before) + 1e-30);
        }
    }
    return made;
}

double Products::worst_error(const Case<Products>& test_case) {
    const Args& args = test_case.args;
    std::vector<float> all;
    for (std::size_t i = 0; i < static_cast<std::size_t>(args.shape.matrices); ++i) {
        all.insert(all.end(), args.y[i], args.y[i] + args.m[i].rows);
    }
    return worst_ratio(all.data(), test_case.expected, test_case.bound);
}

std::vector<double> plain_normed(const float* x, const float* norm, float eps, std::int64_t n) {
    double squares = 0;
    for (std::int64_t i = 0; i < n; ++i) {
        squares += static_cast<double>(x[i]) * static_cast<double>(x[i]);
    }
    const double scale =
        1.0 / std::sqrt(squares / static_cast<double>(n) + static_cast<double>(eps));
    std::vector<double> v;
    for (std::int64_t i = 0; i < n; ++i) {
        v.push_back(static_cast<double>(x[i]) * scale * static_cast<double>(norm[i]));
    }
    return v;
}

std::vector<double> plain_gated(const float* gate, const float* up, std::int64_t n) {
    std::vector<double> v;
    for (std::int64_t i = 0; i < n; ++i) {
        const double g = static_cast<double>(gate[i]);
        v.push_back(g / (1.0 + std::exp(-g)) * static_cast<double>(up[i]));
    }
    return v;
}

double plain_dot(Type type, const std::byte* row, const double* v, std::int64_t cols) {
    float values[kStep];
    double sum = 0;
    for (std::int64_t c = 0; c < cols; c += kStep) {
        const std::int64_t n = std::min(kStep, cols - c);
        dequantize(type, row + row_bytes(type, c), values, n);
        for (std::int64_t i = 0; i < n; ++i) sum += static_cast<double>(values[i]) * v[c + i];
    }
    return sum;
}

static const RegisteredOp<Products> products_op;

}  // namespace steady
