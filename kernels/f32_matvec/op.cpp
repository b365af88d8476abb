// Shapes and cases of the F32 matrices.
#include "kernels/f32_matvec/op.h"

#include "kernels/matrix/matvec_case.h"

namespace steady {

std::vector<F32Matvec::Shape> F32Matvec::model_shapes() {
    return {
        {1, 64, 2048},  // the router of GLM-4.7-Flash and DeepSeek-V2-Lite
        {1, 768, 2048}  // attention of an unquantised file
    };
}

std::vector<F32Matvec::Shape> F32Matvec::odd_shapes(Random& random) {
    std::vector<Shape> shapes = odd_matvec_shapes(random, 1);
    shapes.push_back({1, 9, 100});
    shapes.push_back({2, 5, 257});
    return shapes;
}

Case<F32Matvec> F32Matvec::make_case(const Shape& shape, Random& random, Input input) {
    return make_matvec_case<F32Matvec>(shape, random, input);
}

double F32Matvec::worst_error(const Case<F32Matvec>& test_case) {
    return worst_ratio(test_case.args.y, test_case.expected, test_case.bound);
}

static const RegisteredOp<F32Matvec> op;

}  // namespace steady
