// As avx512_vnni, with queries of two bytes per value: scores as exact as the cache is.
// Expected: behind it by the second product of each score, a third of the time at depth.
#include "kernels/mla_attention_q8/vnni.h"

namespace steady {

static const Variant<MlaAttentionQ8> variant{"avx512_vnni_q16",
                                             mla_vnni::options(Input::q16, mla_vnni::run<true>)};

}  // namespace steady
