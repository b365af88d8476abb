// Shapes and cases are those of every matmul.
#include "kernels/q5_k_matmul/op.h"

#include "kernels/matrix/matmul_case.h"

namespace steady {

static const RegisteredOp<Q5_KMatmul> q5_k_matmul_op;

}  // namespace steady
