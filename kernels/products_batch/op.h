// The joined products for a batch of a prompt's tokens: what op products does for one vector, for n
// of them. Weights are read once for all tokens of a tile instead of once for each, so that the
// arithmetic counts, which on a GPU the tensor cores do.
#pragma once

#include "kernels/products/op.h"

namespace steady {

struct ProductsBatchShape : ProductsShape {
    std::int64_t n = 1;  // vectors
    static std::array<ShapeField<ProductsBatchShape>, 7> fields() {
        return {{{"type", nullptr, &ProductsBatchShape::type},
                 {"rows", &ProductsBatchShape::rows},
                 {"cols", &ProductsBatchShape::cols},
                 {"matrices", &ProductsBatchShape::matrices},
                 {"input", &ProductsBatchShape::input},
                 {"residual", &ProductsBatchShape::residual},
                 {"n", &ProductsBatchShape::n}}};
    }
    std::string problem() const {
        return n > 0 ? ProductsShape::problem() : "n is required: how many vectors";
    }
};

struct ProductsBatch {
    static constexpr const char* name = "products_batch";
    static constexpr int phases = 1;
    using Shape = ProductsBatchShape;
    struct Args {
        Shape shape;
        Products::Args first;          // of the first vector; the others' follow it, as below
        std::byte* scratch = nullptr;  // [scratch_bytes(shape)]
    };
    using Run = void (*)(const Args&, Range) noexcept;

    static void set_weight(Args& args, std::size_t index, const std::byte* w) {
        Products::set_weight(args.first, index, w);
    }

    // Room for the vectors as floats and as halves.
    static std::int64_t scratch_bytes(const Shape& s) { return s.n * (6 * s.cols + 256) + 2048; }

    // Row t: op products of x[t] [cols] and up[t] [cols] to y[i][t] [m[i].rows], with residual[t].
    static std::int64_t rows(const Shape& shape, int /*phase*/) { return shape.n; }
    static Cost cost(const Shape& shape) {
        Cost cost = Products::cost(shape);
        cost.other_bytes *= shape.n;
        cost.flops *= static_cast<double>(shape.n);
        return cost;
    }
    static std::vector<Shape> model_shapes();
    static std::vector<Shape> odd_shapes(Random& random);
    static Case<ProductsBatch> make_case(const Shape& shape, Random& random, Input input);
    static double worst_error(const Case<ProductsBatch>& test_case);
};

// The arguments of op products for vector t.
Products::Args products_of(const ProductsBatch::Args& args, std::int64_t t);

}  // namespace steady
