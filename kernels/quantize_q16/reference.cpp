// The q8 form in plain code, then what it left.
#include "kernels/cases/case.h"
#include "kernels/quantize_q16/op.h"

namespace steady {
namespace {

void run(const QuantizeQ16::Args& args, Range range) noexcept {
    for (std::int64_t b = range.begin; b < range.end; ++b) {
        const std::int64_t first = b * kActivationBlock;
        std::int32_t sum8 = 0;
        quantize_plain(args.x + first, kActivationBlock, args.q8 + first, args.scale + b, &sum8);
        refine_plain(args.x + first, kActivationBlock, args.q8 + first, args.scale + b,
                     args.low + first, args.sum16 + b);
    }
}

}  // namespace

static const Variant<QuantizeQ16> variant{"reference", {.run = run}};

}  // namespace steady
