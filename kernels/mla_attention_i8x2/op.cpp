// The op's registration, with its cases.
#include "kernels/mla_attention_i8x2/op.h"

#include "kernels/attention/attention_case.h"

namespace steady {

static const RegisteredOp<MlaAttentionI8x2> mla_attention_i8x2_op;

}  // namespace steady
