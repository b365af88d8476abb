// Shapes and cases are those of every matmul.
#include "kernels/q4_0_matmul/op.h"

#include "kernels/matrix/matmul_case.h"

namespace steady {

static const RegisteredOp<Q4_0Matmul> q4_0_matmul_op;

}  // namespace steady
