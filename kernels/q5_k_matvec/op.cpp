// Shapes and cases of the Q5_K matrices.
#include "kernels/q5_k_matvec/op.h"

#include "kernels/matrix/matvec_case.h"

namespace steady {

std::vector<Q5_KMatvec::Shape> Q5_KMatvec::model_shapes() {
    return {
        {1, 1536, 2048},  // GLM-4.7-Flash: gate and up of the shared expert
        {1, 2816, 2048}   // DeepSeek-V2-Lite: the same
    };
}

std::vector<Q5_KMatvec::Shape> Q5_KMatvec::odd_shapes(Random& random) {
    return odd_matvec_shapes(random, 256);
}

Case<Q5_KMatvec> Q5_KMatvec::make_case(const Shape& shape, Random& random, Input input) {
    return make_matvec_case<Q5_KMatvec>(shape, random, input);
}

double Q5_KMatvec::worst_error(const Case<Q5_KMatvec>& test_case) {
    return worst_ratio(test_case.args.y, test_case.expected, test_case.bound);
}

static const RegisteredOp<Q5_KMatvec> op;

}  // namespace steady
