// Shapes and cases of the Q6_K matrices.
#include "kernels/q6_k_matvec/op.h"

#include "kernels/matrix/matvec_case.h"

namespace steady {

std::vector<Q6_KMatvec::Shape> Q6_KMatvec::model_shapes() {
    return {
        {1, 2048, 1536},    // GLM-4.7-Flash: down of the shared expert
        {1, 154880, 2048},  // GLM-4.7-Flash: output
        {1, 2048, 2816},    // DeepSeek-V2-Lite: down of the shared experts
        {1, 102400, 2048},  // DeepSeek-V2-Lite: output
        {1, 128256, 2048}   // youtu-llm 2B: output
    };
}

std::vector<Q6_KMatvec::Shape> Q6_KMatvec::odd_shapes(Random& random) {
    return odd_matvec_shapes(random, 256);
}

Case<Q6_KMatvec> Q6_KMatvec::make_case(const Shape& shape, Random& random, Input input) {
    return make_matvec_case<Q6_KMatvec>(shape, random, input);
}

double Q6_KMatvec::worst_error(const Case<Q6_KMatvec>& test_case) {
    return worst_ratio(test_case.args.y, test_case.expected, test_case.bound);
}

static const RegisteredOp<Q6_KMatvec> op;

}  // namespace steady
