// Shapes and cases of the rarer weight types.
#include "kernels/other_matvec/op.h"

#include "kernels/matrix/matvec_case.h"

namespace steady {
namespace {

constexpr Type kTypes[] = {Type::f16, Type::bf16, Type::q4_1, Type::q5_0, Type::q5_1, Type::q4_k};

}  // namespace

std::vector<OtherMatvec::Shape> OtherMatvec::model_shapes() {
    std::vector<Shape> shapes;
    for (const Type type : kTypes) shapes.push_back({type, 1, 768, 2048});
    return shapes;
}

std::vector<OtherMatvec::Shape> OtherMatvec::odd_shapes(Random& random) {
    std::vector<Shape> shapes;
    for (const Type type : kTypes) {
        const std::int64_t block = block_values(type);
        shapes.push_back({type, 1, 1, block});
        shapes.push_back({type, 3, 5, 3 * block});
        shapes.push_back({type, 1, random.integer(1, 40), block * random.integer(1, 9)});
    }
    return shapes;
}

Case<OtherMatvec> OtherMatvec::make_case(const Shape& shape, Random& random, Input input) {
    Case<OtherMatvec> made;
    std::vector<DotExpectation> dots;
    const MatvecArgs args = fill_matvec_case(shape.type, {shape.groups, shape.rows, shape.cols},
                                             random, input, made.memory, dots);
    expect_dots(made, dots);
    made.args = {shape, args.w, args.x, args.y};
    made.weights.push_back(whole_matrix(shape.type, shape.groups * shape.rows, shape.cols, args.w));
    return made;
}

double OtherMatvec::worst_error(const Case<OtherMatvec>& test_case) {
    return worst_ratio(test_case.args.y, test_case.expected, test_case.bound);
}

static const RegisteredOp<OtherMatvec> other_matvec_op;

}  // namespace steady
