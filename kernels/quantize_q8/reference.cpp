// One block at a time, with the nearest integer.
#include "kernels/cases/case.h"
#include "kernels/quantize_q8/op.h"

namespace steady {
namespace {

void run(const QuantizeQ8::Args& args, Range range) noexcept {
    const std::int64_t first = range.begin * kActivationBlock;
    quantize_plain(args.x + first, (range.end - range.begin) * kActivationBlock, args.q8 + first,
                   args.scale + range.begin, args.sum + range.begin);
}

}  // namespace

static const Variant<QuantizeQ8> variant{"reference", {.run = run}};

}  // namespace steady
