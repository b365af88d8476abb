// Shapes and cases of the F32 matrices.
#include "kernels/f32_matvec/op.h"

#include "kernels/matrix/matvec_case.h"

namespace steady {

std::vector<MatvecShape> F32Matvec::model_shapes() {
    return {
        {1, 64, 2048},  // the router of GLM-4.7-Flash and DeepSeek-V2-Lite
        {1, 768, 2048}  // attention of an unquantised file
    };
}

static const RegisteredOp<F32Matvec> f32_matvec_op;

}  // namespace steady
