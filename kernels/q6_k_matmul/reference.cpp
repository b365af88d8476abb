// Plain loops: each vector's product by itself, exact weights, summed in double.
#include "kernels/q6_k_matmul/op.h"

namespace steady {
namespace {

void run(const Q6_KMatmul::Args& args, Range range) noexcept {
    plain_matmul(Type::q6_k, args, range);
}

}  // namespace

static const Variant<Q6_KMatmul> variant{"reference", {.run = run}};

}  // namespace steady
