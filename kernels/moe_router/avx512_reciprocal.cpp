// Probabilities by an estimated reciprocal, refined once, in place of divisions.
// Expected: too small a part of a token to show in the model; a few nanoseconds alone.
#include "kernels/moe_router/parts_avx512.h"

namespace steady {

using namespace router_avx512;

static const Variant<MoeRouter> variant{
    "avx512_reciprocal", options<Divide::reciprocal, Choose::passes, Scale::folded>()};

}  // namespace steady
