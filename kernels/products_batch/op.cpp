// Cases of the products of a batch: those of op products, vector by vector, over the same matrices.
#include "kernels/products_batch/op.h"

#include <algorithm>
#include <cmath>

#include "kernels/cases/op_info.h"

namespace steady {

std::vector<ProductsBatch::Shape> ProductsBatch::model_shapes() {
    return {{{Type::q4_0, 1344, 2048, 2, 2}, 33}, {{Type::q6_k, 192, 2048, 1, 2}, 130}};
}

std::vector<ProductsBatch::Shape> ProductsBatch::odd_shapes(Random& random) {
    std::vector<Shape> shapes;
    for (const Type type : kAllTypes) {
        const std::int64_t block = block_values(type) == 1 ? 4 : block_values(type);
        shapes.push_back({{type, 3, block, 1, 1}, 1});
        const std::int64_t n = random.integer(1, 3);
        shapes.push_back({{type, n * random.integer(1, 70), block * random.integer(1, 5), n,
                           random.integer(1, 3), n == 1 ? 2 : 1},
                          random.integer(2, 70)});
    }
    shapes.push_back({{Type::q4_0, 150, 96, 1, 2}, 129});
    shapes.push_back({{Type::f32, 5, 7, 1, 2}, 3});
    return shapes;
}

Products::Args products_of(const ProductsBatch::Args& args, std::int64_t t) {
    Products::Args one = args.first;
    const std::int64_t cols = args.shape.cols;
    one.x += t * cols;
    if (one.up != nullptr) one.up += t * cols;
    if (one.residual != nullptr) one.residual += t * one.m[0].rows;
    for (std::size_t i = 0; i < one.y.size() && one.m[i].present(); ++i) {
        one.y[i] += t * one.m[i].rows;
    }
    return one;
}

namespace {

// The largest errors of a prepared vector's values that a right variant may make.
std::vector<double> value_roundings(const std::vector<double>& v, Input input, bool prepared) {
    std::vector<double> off;
    const double n = static_cast<double>(v.size());
    for (std::size_t b = 0; b < v.size(); b += 32) {
        const std::size_t end = std::min(v.size(), b + 32);
        double largest = 0;
        for (std::size_t i = b; i < end; ++i) largest = std::max(largest, std::fabs(v[i]));
        const double half_step = input == Input::f32 ? 0 : largest / 127 * 0.501;
        for (std::size_t i = b; i < end; ++i) {
            off.push_back(half_step + (prepared ? (n / 16 + 24) * kUnit * std::fabs(v[i]) : 0.0));
        }
    }
    return off;
}

// What is expected of vector t, in the order of its outputs.
void expect_vector(Case<ProductsBatch>& made, const Products::Args& one, Input input) {
    const std::int64_t cols = made.args.shape.cols;
    std::vector<double> v(one.x, one.x + cols);
    if (one.norm != nullptr) v = plain_normed(one.x, one.norm, one.eps, cols);
    if (one.up != nullptr) v = plain_gated(one.x, one.up, cols);
    const auto off = value_roundings(v, input, one.norm != nullptr || one.up != nullptr);
    std::vector<float> weights(v.size());
    const double chain = static_cast<double>(cols) / 8 + 32;
    for (std::size_t i = 0; i < one.m.size() && one.m[i].present(); ++i) {
        const AnyMatrix& m = one.m[i];
        for (std::int64_t r = 0; r < m.rows; ++r) {
            dequantize(m.type, m.w + r * row_bytes(m.type, cols), weights.data(), cols);
            const double before =
                one.residual != nullptr ? static_cast<double>(one.residual[r]) : 0.0;
            double sum = 0, wrong = 0, magnitude = 0;
            for (std::size_t c = 0; c < v.size(); ++c) {
                const double weight = static_cast<double>(weights[c]);
                sum += weight * v[c];
                wrong += std::fabs(weight) * off[c];
                magnitude += std::fabs(weight * v[c]);
            }
            made.expected.push_back(before + sum);
            made.bound.push_back(wrong + 8 * chain * kUnit * magnitude +
                                 2 * kUnit * std::fabs(before) + 1e-30);
        }
    }
}

}  // namespace

Case<ProductsBatch> ProductsBatch::make_case(const Shape& shape, Random& random, Input input) {
    Case<ProductsBatch> made;
    made.args.shape = shape;
    Products::Args& first = made.args.first;
    first.shape = shape;
    first.eps = 1e-5F;
    const auto vectors = [&](std::int64_t n) {
        auto* values = made.memory.add<float>(Role::input, n);
        fill_activations(random, values, n);
        return values;
    };
    first.x = vectors(shape.n * shape.cols);
    if (shape.input == 2) first.norm = vectors(shape.cols);
    if (shape.input == 3) first.up = vectors(shape.n * shape.cols);
    if (shape.residual == 2) first.residual = vectors(shape.n * shape.rows);
    const std::int64_t rows = shape.rows / shape.matrices;
    for (std::int64_t i = 0; i < shape.matrices; ++i) {
        auto* w =
            made.memory.add<std::byte>(Role::weights, rows * row_bytes(shape.type, shape.cols));
        fill_weights(shape.type, random, rows, shape.cols, w);
        const auto at = static_cast<std::size_t>(i);
        first.m[at] = {shape.type, rows, shape.cols, w};
        first.y[at] = made.memory.add<float>(Role::output, shape.n * rows);
        made.weights.push_back(whole_matrix(shape.type, rows, shape.cols, w));
    }
    made.args.scratch = made.memory.add<std::byte>(Role::scratch, scratch_bytes(shape));
    for (std::int64_t t = 0; t < shape.n; ++t)
        expect_vector(made, products_of(made.args, t), input);
    return made;
}

double ProductsBatch::worst_error(const Case<ProductsBatch>& test_case) {
    std::vector<float> all;
    for (std::int64_t t = 0; t < test_case.args.shape.n; ++t) {
        const Products::Args one = products_of(test_case.args, t);
        for (std::size_t i = 0; i < one.m.size() && one.m[i].present(); ++i) {
            all.insert(all.end(), one.y[i], one.y[i] + one.m[i].rows);
        }
    }
    return worst_ratio(all.data(), test_case.expected, test_case.bound);
}

static const RegisteredOp<ProductsBatch> products_batch_op;

}  // namespace steady
