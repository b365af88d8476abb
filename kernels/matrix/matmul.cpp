// The plain meaning of a product with several vectors, and its cases.
#include "kernels/matrix/matmul.h"

#include <algorithm>

#include "kernels/matrix/matmul_case.h"

namespace steady {

void plain_matmul(Type type, const MatmulArgs& args, Range range) noexcept {
    const MatmulShape& shape = args.shape;
    const std::int64_t stride = row_bytes(type, shape.cols);
    for (std::int64_t r = range.begin; r < range.end; ++r) {
        const std::int64_t group = r / shape.rows;
        for (std::int64_t v = args.first[group]; v < args.first[group + 1]; ++v) {
            const float* x = args.x.f32 + args.x_row[v] * shape.cols;
            args.y[args.y_row[v] * shape.rows + r % shape.rows] =
                static_cast<float>(plain_dot(type, args.w + r * stride, x, shape.cols));
        }
    }
}

std::vector<MatmulShape> model_matmul_shapes() {
    return {{1, 768, 2048, 32},      // attn_q_a of GLM-4.7-Flash
            {20, 256, 512, 20 * 8},  // attn_v_b
            {8, 512, 2048, 32}};     // some of a block's experts
}

std::vector<MatmulShape> odd_matmul_shapes(Random& random, std::int64_t block) {
    return {{1, 1, block, 1},
            {3, 5, block, 7},
            {2, 16, 3 * block, 15},
            {5, 32, 2 * block, 3},
            {1, 48, block, 9},
            {2, 96, 2 * block, 40},
            {random.integer(1, 6), 16 * random.integer(1, 9), block * random.integer(1, 7),
             random.integer(1, 40)}};
}

MatmulArgs fill_matmul_case(Type type, const MatmulShape& shape, Random& random, Input input,
                            CaseMemory& memory, std::vector<double>& expected,
                            std::vector<double>& bound) {
    const std::int64_t n_rows = shape.groups * shape.rows;
    const std::int64_t stride = row_bytes(type, shape.cols);
    auto* w = memory.add<std::byte>(Role::weights, n_rows * stride);
    fill_weights(type, random, n_rows, shape.cols, w);
    // Vectors fall on groups at random, some on none; several may read the same row of x. A single
    // group has one row after the other, as a plain matrix.
    auto* first = memory.add<std::int32_t>(Role::input, shape.groups + 1);
    for (std::int64_t v = 0; v < shape.vectors; ++v) {
        for (std::int64_t g = random.integer(0, shape.groups - 1); g < shape.groups; ++g) {
            ++first[g + 1];
        }
    }
    const bool plain = shape.groups == 1;
    const std::int64_t n_x = plain ? shape.vectors : (shape.vectors + 1) / 2;
    auto* x_row = memory.add<std::int32_t>(Role::input, shape.vectors);
    auto* y_row = memory.add<std::int32_t>(Role::input, shape.vectors);
    for (std::int64_t v = 0; v < shape.vectors; ++v) {
        x_row[v] = static_cast<std::int32_t>(plain ? v : random.integer(0, n_x - 1));
        y_row[v] = static_cast<std::int32_t>(v);
        std::swap(y_row[v], y_row[random.integer(0, v)]);
    }
    const MatmulArgs args{shape,
                          w,
                          first,
                          x_row,
                          y_row,
                          add_activation(memory, random, n_x * shape.cols),
                          memory.add<float>(Role::output, shape.vectors * shape.rows)};
    const std::vector<double> x = values_of(args.x, n_x * shape.cols, input);
    expected.resize(static_cast<std::size_t>(shape.vectors * shape.rows));
    bound.resize(expected.size());
    for (std::int64_t r = 0; r < n_rows; ++r) {
        const std::int64_t group = r / shape.rows;
        for (std::int64_t v = first[group]; v < first[group + 1]; ++v) {
            const DotExpectation dot = expect_dot(
                type, w + r * stride, x.data() + x_row[v] * shape.cols, shape.cols, input);
            const auto at = static_cast<std::size_t>(y_row[v] * shape.rows + r % shape.rows);
            expected[at] = dot.value;
            bound[at] = dot.bound;
        }
    }
    return args;
}

}  // namespace steady
