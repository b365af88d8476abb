// Cases of the picked row: of every type, first and last row among them.
#include "kernels/token_row/op.h"

#include <cmath>

#include "kernels/cases/op_info.h"

namespace steady {

std::vector<TokenRow::Shape> TokenRow::model_shapes() { return {{Type::q6_k, 1024, 2048}}; }

std::vector<TokenRow::Shape> TokenRow::odd_shapes(Random& random) {
    std::vector<Shape> shapes;
    for (const Type type : kAllTypes) {
        shapes.push_back({type, random.integer(1, 40), block_values(type) * random.integer(1, 5),
                          random.integer(1, 3)});
    }
    return shapes;
}

Case<TokenRow> TokenRow::make_case(const Shape& shape, Random& random, Input /*input*/) {
    Case<TokenRow> made;
    const std::int64_t stride = row_bytes(shape.type, shape.cols);
    auto* table = made.memory.add<std::byte>(Role::weights, shape.rows * stride);
    fill_weights(shape.type, random, shape.rows, shape.cols, table);
    auto* token = made.memory.add<std::int32_t>(Role::input, shape.n);
    made.args = {shape, table, token, made.memory.add<float>(Role::output, shape.n * shape.cols)};
    made.weights.push_back(whole_matrix(shape.type, shape.rows, shape.cols, table));
    std::vector<float> row(static_cast<std::size_t>(shape.cols));
    for (std::int64_t t = 0; t < shape.n; ++t) {
        token[t] = static_cast<std::int32_t>(random.integer(0, shape.rows - 1));
        dequantize(shape.type, table + token[t] * stride, row.data(), shape.cols);
        float largest = 0;
        for (const float value : row) largest = std::max(largest, std::fabs(value));
        for (const float value : row) {
            made.expected.push_back(static_cast<double>(value));
            // Two roundings of parts that are no larger than a few times the row's largest value.
            made.bound.push_back(8 * kUnit * static_cast<double>(largest));
        }
    }
    return made;
}

double TokenRow::worst_error(const Case<TokenRow>& test_case) {
    return worst_ratio(test_case.args.y, test_case.expected, test_case.bound);
}

static const RegisteredOp<TokenRow> token_row_op;

}  // namespace steady
