// Probabilities of all experts in registers' width, then the best of them once per place: the
// largest score by a vector pass, its lowest index by a second compare. Expected: several times the
// reference, which recomputes exponentials for each place.
#include "kernels/moe_router/parts_avx512.h"

namespace steady {

using namespace router_avx512;

static const Variant<MoeRouter> variant{"avx512",
                                        options<Divide::exactly, Choose::passes, Scale::folded>()};

}  // namespace steady
