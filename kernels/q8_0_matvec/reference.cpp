// Plain loops over the exact values of the weights, summed in double. Never optimised: every other
// variant is held against it.
#include "kernels/q8_0_matvec/op.h"

namespace steady {
namespace {

void run(const Q8_0Matvec::Args& args, Range range) noexcept {
    plain_matvec(Type::q8_0, args, range);
}

}  // namespace

static const Variant<Q8_0Matvec> variant{"reference", {.run = run}};

}  // namespace steady
