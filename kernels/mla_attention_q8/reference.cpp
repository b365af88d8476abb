// Three plain passes per head, in double.
#include "kernels/attention/attention_reference.h"
#include "kernels/mla_attention_q8/op.h"

namespace steady {

static const Variant<MlaAttentionQ8> variant{"reference", {.run = attend_plainly<MlaAttentionQ8>}};

}  // namespace steady
