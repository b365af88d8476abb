// Plain loops over the exact values of the weights, summed in double.
#include "kernels/other_matvec/op.h"

namespace steady {
namespace {

void run(const OtherMatvec::Args& args, Range range) noexcept {
    const OtherMatvecShape& shape = args.shape;
    const MatvecArgs plain{{shape.groups, shape.rows, shape.cols}, args.w, args.x, args.y};
    plain_matvec(shape.type, plain, range);
}

}  // namespace

static const Variant<OtherMatvec> variant{"reference", {.run = run}};

}  // namespace steady
