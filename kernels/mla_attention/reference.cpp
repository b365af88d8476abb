// Three plain passes per head, in double.
#include "kernels/attention/attention_reference.h"
#include "kernels/mla_attention/op.h"

namespace steady {

static const Variant<MlaAttention> variant{"reference", {.run = attend_plainly<MlaAttention>}};

}  // namespace steady
