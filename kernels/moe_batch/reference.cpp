// Op moe_decode, token by token.
#include "kernels/moe_batch/op.h"

namespace steady {

static void run(const MoeBatch::Args& args, Range tokens) noexcept {
    static const VariantInfo<MoeDecode>* const one = find_variant<MoeDecode>("reference").variant;
    std::vector<float> hidden(static_cast<std::size_t>(2 * args.shape.n_hidden()));
    for (std::int64_t t = tokens.begin; t < tokens.end; ++t) {
        for (int phase = 0; phase < MoeDecode::phases; ++phase) {
            one->run(experts_of(args, t, hidden.data()),
                     {0, MoeDecode::rows(args.shape, phase), phase});
        }
    }
}

static const Variant<MoeBatch> variant{"reference", {.run = run}};

}  // namespace steady
