// The phases one after the other, in plain code.
#include "kernels/block_decode/op.h"

namespace steady {

static void run(const BlockDecode::Args& args, Range range) noexcept {
    plain_block_decode(args, range);
}

static const Variant<BlockDecode> variant{"reference", {.run = run}};

}  // namespace steady
