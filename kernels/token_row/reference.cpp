// The formats' own decoder.
#include "kernels/token_row/op.h"

namespace steady {

static void run(const TokenRow::Args& args, Range range) noexcept {
    if (range.begin >= range.end) return;
    const TokenRowShape& shape = args.shape;
    dequantize(shape.type, args.table + *args.token * row_bytes(shape.type, shape.cols), args.y,
               shape.cols);
}

static const Variant<TokenRow> variant{"reference", {.run = run}};

}  // namespace steady
