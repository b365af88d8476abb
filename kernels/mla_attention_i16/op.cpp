// The op's registration, with its cases.
#include "kernels/mla_attention_i16/op.h"

#include "kernels/attention/attention_case.h"

namespace steady {

static const RegisteredOp<MlaAttentionI16> mla_attention_i16_op;

}  // namespace steady
