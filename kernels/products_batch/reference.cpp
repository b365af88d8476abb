// Op products, vector by vector.
#include "kernels/products_batch/op.h"

namespace steady {

static void run(const ProductsBatch::Args& args, Range vectors) noexcept {
    static const VariantInfo<Products>* const one = find_variant<Products>("reference").variant;
    for (std::int64_t t = vectors.begin; t < vectors.end; ++t) {
        one->run(products_of(args, t), {0, args.shape.rows, 0});
    }
}

static const Variant<ProductsBatch> variant{"reference", {.run = run}};

}  // namespace steady
