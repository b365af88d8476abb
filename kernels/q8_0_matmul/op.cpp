// Shapes and cases are those of every matmul.
#include "kernels/q8_0_matmul/op.h"

#include "kernels/matrix/matmul_case.h"

namespace steady {

static const RegisteredOp<Q8_0Matmul> q8_0_matmul_op;

}  // namespace steady
