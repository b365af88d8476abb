// Probabilities by an estimated reciprocal, refined once, in place of divisions, with AVX2.
// Expected: too small a part of a token to show in the model; a few nanoseconds alone.
#include "kernels/moe_router/parts_avx2.h"

namespace steady {

using namespace router_avx2;

static const Variant<MoeRouter> variant{
    "avx2_reciprocal", options<Divide::reciprocal, Choose::passes, Scale::folded>()};

}  // namespace steady
