// Quants are decoded where they meet x, the scale once per block, without intrinsics.
// Expected: a few times the reference; the best choice on a CPU without AVX2.
#include "kernels/layouts/q4_0_portable.h"
#include "kernels/q4_0_experts/portable.h"

namespace steady {

static const Variant<Q4_0Experts> variant{
    "portable_online",
    {.run = experts_portable::run<q4_0_portable::dot<q4_0_portable::add_hoisted>>}};

}  // namespace steady
