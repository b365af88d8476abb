// Shapes and cases are those of every matmul.
#include "kernels/q6_k_matmul/op.h"

#include "kernels/matrix/matmul_case.h"

namespace steady {

static const RegisteredOp<Q6_KMatmul> q6_k_matmul_op;

}  // namespace steady
