// Op mla_decode, token by token.
#include "kernels/mla_batch/op.h"

namespace steady {

static void run(const MlaBatch::Args& args, Range range) noexcept {
    if (range.begin >= range.end) return;
    static const VariantInfo<MlaDecode>* const one = find_variant<MlaDecode>("reference").variant;
    for (std::int64_t t = 0; t < args.shape.n; ++t) {
        const auto position = static_cast<std::int32_t>(args.shape.n_positions - args.shape.n + t);
        one->run(attention_of(args, t, &position), {0, args.shape.n_heads, 0});
    }
}

static const Variant<MlaBatch> variant{"reference", {.run = run}};

}  // namespace steady
