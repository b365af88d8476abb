// Shapes and cases of the Q8_0 matrices.
#include "kernels/q8_0_matvec/op.h"

#include "kernels/matrix/matvec_case.h"

namespace steady {

std::vector<MatvecShape> Q8_0Matvec::model_shapes() {
    return {{1, 768, 2048},  // attention of a GLM-4.7-Flash file in Q8_0
            {20, 512, 192},  // attn_k_b, whose rows are too short for the larger blocks
            {1, 2048, 5120}};
}

static const RegisteredOp<Q8_0Matvec> q8_0_matvec_op;

}  // namespace steady
