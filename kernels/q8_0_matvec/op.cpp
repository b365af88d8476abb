// Shapes and cases of the Q8_0 matrices.
#include "kernels/q8_0_matvec/op.h"

#include "kernels/matrix/matvec_case.h"

namespace steady {

std::vector<Q8_0Matvec::Shape> Q8_0Matvec::model_shapes() {
    return {{1, 768, 2048},  // attention of a GLM-4.7-Flash file in Q8_0
            {20, 512, 192},  // attn_k_b, whose rows are too short for the larger blocks
            {1, 2048, 5120}};
}

std::vector<Q8_0Matvec::Shape> Q8_0Matvec::odd_shapes(Random& random) {
    return odd_matvec_shapes(random, 32);
}

Case<Q8_0Matvec> Q8_0Matvec::make_case(const Shape& shape, Random& random, Input input) {
    return make_matvec_case<Q8_0Matvec>(shape, random, input);
}

double Q8_0Matvec::worst_error(const Case<Q8_0Matvec>& test_case) {
    return worst_ratio(test_case.args.y, test_case.expected, test_case.bound);
}

static const RegisteredOp<Q8_0Matvec> op;

}  // namespace steady
