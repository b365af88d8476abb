// Shapes and cases of the Q5_K matrices.
#include "kernels/q5_k_matvec/op.h"

#include "kernels/matrix/matvec_case.h"

namespace steady {

std::vector<MatvecShape> Q5_KMatvec::model_shapes() {
    return {
        {1, 1536, 2048},  // GLM-4.7-Flash: gate and up of the shared expert
        {1, 2816, 2048}   // DeepSeek-V2-Lite: the same
    };
}

static const RegisteredOp<Q5_KMatvec> q5_k_matvec_op;

}  // namespace steady
