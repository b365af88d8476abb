// Plain loops: each vector's product by itself, exact weights, summed in double.
#include "kernels/q5_k_matmul/op.h"

namespace steady {
namespace {

void run(const Q5_KMatmul::Args& args, Range range) noexcept {
    plain_matmul(Type::q5_k, args, range);
}

}  // namespace

static const Variant<Q5_KMatmul> variant{"reference", {.run = run}};

}  // namespace steady
