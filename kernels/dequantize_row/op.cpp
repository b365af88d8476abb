// Cases of the row decoding. The bound is zero: the values of a format are exact.
#include "kernels/dequantize_row/op.h"

#include "kernels/cases/op_info.h"

namespace steady {

std::vector<DequantizeRow::Shape> DequantizeRow::model_shapes() {
    return {{Type::q6_k, 2048}, {Type::q4_0, 2048}, {Type::q8_0, 2048}, {Type::f32, 2048}};
}

std::vector<DequantizeRow::Shape> DequantizeRow::odd_shapes(Random& random) {
    std::vector<Shape> shapes;
    for (const Type type : kAllTypes) {
        shapes.push_back({type, block_values(type)});
        shapes.push_back({type, block_values(type) * random.integer(2, 9)});
    }
    return shapes;
}

Case<DequantizeRow> DequantizeRow::make_case(const Shape& shape, Random& random, Input /*input*/) {
    Case<DequantizeRow> made;
    const std::int64_t bytes = row_bytes(shape.type, shape.n);
    auto* row = made.memory.add<std::byte>(Role::weights, bytes);
    fill_weights(shape.type, random, 1, shape.n, row);
    made.args = {shape, row, made.memory.add<float>(Role::output, shape.n)};
    std::vector<float> values(static_cast<std::size_t>(shape.n));
    dequantize(shape.type, row, values.data(), shape.n);
    made.expected.assign(values.begin(), values.end());
    made.bound.assign(values.size(), 0);
    made.weights.push_back({{1, shape.n}, bytes, row, {}, {{0, 1, 0}}});
    return made;
}

double DequantizeRow::worst_error(const Case<DequantizeRow>& test_case) {
    return worst_ratio(test_case.args.y, test_case.expected, test_case.bound);
}

static const RegisteredOp<DequantizeRow> dequantize_row_op;

}  // namespace steady
