// The op's registration, with its cases.
#include "kernels/quantize_q16/op.h"

#include "kernels/quantize_q8/cases.h"

namespace steady {

static const RegisteredOp<QuantizeQ16> quantize_q16_op;

}  // namespace steady
