// The bottom of the ladder: one byte at a time, each weight made a float with its scale before it
// meets x. No intrinsics; eight partial sums so that the compiler may use its baseline vectors.
// Expected: the slowest rung above the reference.
#include "kernels/layouts/q4_0_portable.h"
#include "kernels/q4_0_matvec/op.h"

namespace steady {

static const Variant<Q4_0Matvec> variant{"portable_byte_loads",
                                         {.run = q4_0_portable::matvec<q4_0_portable::add_scaled>}};

}  // namespace steady
