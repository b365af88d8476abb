// Plain loops: each vector's product by itself, exact weights, summed in double.
#include "kernels/q4_0_matmul/op.h"

namespace steady {
namespace {

void run(const Q4_0Matmul::Args& args, Range range) noexcept {
    plain_matmul(Type::q4_0, args, range);
}

}  // namespace

static const Variant<Q4_0Matmul> variant{"reference", {.run = run}};

}  // namespace steady
