// Shapes and cases of the Q6_K matrices.
#include "kernels/q6_k_matvec/op.h"

#include "kernels/matrix/matvec_case.h"

namespace steady {

std::vector<MatvecShape> Q6_KMatvec::model_shapes() {
    return {
        {1, 2048, 1536},    // GLM-4.7-Flash: down of the shared expert
        {1, 154880, 2048},  // GLM-4.7-Flash: output
        {1, 2048, 2816},    // DeepSeek-V2-Lite: down of the shared experts
        {1, 102400, 2048},  // DeepSeek-V2-Lite: output
        {1, 128256, 2048}   // youtu-llm 2B: output
    };
}

static const RegisteredOp<Q6_KMatvec> q6_k_matvec_op;

}  // namespace steady
