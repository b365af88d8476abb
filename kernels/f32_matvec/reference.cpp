// Plain loops over the exact values of the weights, summed in double. Never optimised: every other
// variant is held against it.
#include "kernels/f32_matvec/op.h"

namespace steady {
namespace {

void run(const F32Matvec::Args& args, Range range) noexcept {
    plain_matvec(Type::f32, args, range);
}

}  // namespace

static const Variant<F32Matvec> variant{"reference", {.run = run}};

}  // namespace steady
