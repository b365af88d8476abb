// The plain computation, phase by phase.
#include "kernels/moe_decode/op.h"

namespace steady {

static void run(const MoeDecode::Args& args, Range range) noexcept {
    plain_moe_decode(args, range);
}

static const Variant<MoeDecode> variant{"reference", {.run = run}};

}  // namespace steady
