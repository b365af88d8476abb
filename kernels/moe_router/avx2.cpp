// Probabilities eight at a time with AVX2, then the best of them once per place by vector passes.
// Expected: the choice without AVX-512; the exponentials are most of the reference's time.
#include "kernels/moe_router/parts_avx2.h"

namespace steady {

using namespace router_avx2;

static const Variant<MoeRouter> variant{"avx2",
                                        options<Divide::exactly, Choose::passes, Scale::folded>()};

}  // namespace steady
