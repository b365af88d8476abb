// The experts' scale applied after the division by the sum, not folded into it: one division and
// one multiplication more per chosen expert. Expected: no difference that can be measured, which
// is the question: folding it was worth a change on the GPU.
#include "kernels/moe_router/parts_avx512.h"

namespace steady {

using namespace router_avx512;

static const Variant<MoeRouter> variant{"avx512_scale_apart",
                                        options<Divide::exactly, Choose::passes, Scale::apart>()};

}  // namespace steady
