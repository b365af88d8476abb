// Plain loops over the exact values of the weights, summed in double. Never optimised: every other
// variant is held against it.
#include "kernels/q6_k_matvec/op.h"

namespace steady {
namespace {

void run(const Q6_KMatvec::Args& args, Range range) noexcept {
    plain_matvec(Type::q6_k, args, range);
}

}  // namespace

static const Variant<Q6_KMatvec> variant{"reference", {.run = run}};

}  // namespace steady
