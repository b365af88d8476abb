// The op's registration, with its cases.
#include "kernels/quantize_q8/op.h"

#include "kernels/quantize_q8/cases.h"

namespace steady {

static const RegisteredOp<QuantizeQ8> quantize_q8_op;

}  // namespace steady
