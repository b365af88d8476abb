// Three plain passes per head, in double.
#include "kernels/attention/attention_reference.h"
#include "kernels/mla_attention_i8x2/op.h"

namespace steady {

static const Variant<MlaAttentionI8x2> variant{"reference",
                                               {.run = attend_plainly<MlaAttentionI8x2>}};

}  // namespace steady
