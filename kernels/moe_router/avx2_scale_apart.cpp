// The experts' scale applied after the division by the sum, not folded into it, with AVX2.
// Expected: no difference that can be measured, which is the question.
#include "kernels/moe_router/parts_avx2.h"

namespace steady {

using namespace router_avx2;

static const Variant<MoeRouter> variant{"avx2_scale_apart",
                                        options<Divide::exactly, Choose::passes, Scale::apart>()};

}  // namespace steady
