// Plain loops: each vector's product by itself, exact weights, summed in double.
#include "kernels/q8_0_matmul/op.h"

namespace steady {
namespace {

void run(const Q8_0Matmul::Args& args, Range range) noexcept {
    plain_matmul(Type::q8_0, args, range);
}

}  // namespace

static const Variant<Q8_0Matmul> variant{"reference", {.run = run}};

}  // namespace steady
