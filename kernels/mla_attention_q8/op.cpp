// The op's registration, with its cases.
#include "kernels/mla_attention_q8/op.h"

#include "kernels/attention/attention_case.h"

namespace steady {

static const RegisteredOp<MlaAttentionQ8> mla_attention_q8_op;

}  // namespace steady
