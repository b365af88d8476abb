// As portable_byte_loads, but the scale is taken out of the block: quants meet x first, and one
// multiplication per block of 32 applies the scale.
// Expected: faster than portable_byte_loads by the thirty-one multiplications saved.
#include "kernels/layouts/q4_0_portable.h"
#include "kernels/q4_0_matvec/op.h"

namespace steady {

static const Variant<Q4_0Matvec> variant{
    "portable_hoisted_scale", {.run = q4_0_portable::matvec<q4_0_portable::add_hoisted>}};

}  // namespace steady
