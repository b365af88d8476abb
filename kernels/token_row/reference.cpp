// The formats' own decoder.
#include "kernels/token_row/op.h"

namespace steady {

static void run(const TokenRow::Args& args, Range range) noexcept {
    const TokenRowShape& shape = args.shape;
    for (std::int64_t t = range.begin; t < range.end; ++t) {
        dequantize(shape.type, args.table + args.token[t] * row_bytes(shape.type, shape.cols),
                   args.y + t * shape.cols, shape.cols);
    }
}

static const Variant<TokenRow> variant{"reference", {.run = run}};

}  // namespace steady
