// Three plain passes per head, in double.
#include "kernels/attention/attention_reference.h"
#include "kernels/mla_attention_i16/op.h"

namespace steady {

static const Variant<MlaAttentionI16> variant{"reference",
                                              {.run = attend_plainly<MlaAttentionI16>}};

}  // namespace steady
