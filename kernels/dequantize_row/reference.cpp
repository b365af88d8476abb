// The exact decoding of kernels/formats/formats.h.
#include "kernels/dequantize_row/op.h"

namespace steady {
namespace {

void run(const DequantizeRow::Args& args, Range range) noexcept {
    const Type type = args.shape.type;
    const std::int64_t values = block_values(type);
    dequantize(type, args.row + range.begin * block_bytes(type), args.y + range.begin * values,
               (range.end - range.begin) * values);
}

}  // namespace

static const Variant<DequantizeRow> variant{"reference", {.run = run}};

}  // namespace steady
