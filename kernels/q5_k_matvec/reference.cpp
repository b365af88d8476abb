// Plain loops over the exact values of the weights, summed in double. Never optimised: every other
// variant is held against it.
#include "kernels/q5_k_matvec/op.h"

namespace steady {
namespace {

void run(const Q5_KMatvec::Args& args, Range range) noexcept {
    plain_matvec(Type::q5_k, args, range);
}

}  // namespace

static const Variant<Q5_KMatvec> variant{"reference", {.run = run}};

}  // namespace steady
