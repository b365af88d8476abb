// Plain loops over the exact values of the weights, summed in double. Never optimised: every other
// variant is held against it.
#include "kernels/q4_0_matvec/op.h"

namespace steady {
namespace {

void run(const Q4_0Matvec::Args& args, Range range) noexcept {
    plain_matvec(Type::q4_0, args, range);
}

}  // namespace

static const Variant<Q4_0Matvec> variant{"reference", {.run = run}};

}  // namespace steady
