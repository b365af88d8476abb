// The formula in double: each range prepares the vector for itself.
#include "kernels/products/op.h"

namespace steady {
namespace {

std::vector<double> prepared(const Products::Args& args) {
    const std::int64_t n = args.shape.cols;
    if (args.norm != nullptr) return plain_normed(args.x, args.norm, args.eps, n);
    if (args.up != nullptr) return plain_gated(args.x, args.up, n);
    return {args.x, args.x + n};
}

void run(const Products::Args& args, Range range) noexcept {
    const std::vector<double> v = prepared(args);
    const std::int64_t cols = args.shape.cols;
    std::int64_t first = 0;  // row of the matrix in the op's count
    for (std::size_t i = 0; i < args.m.size() && args.m[i].present(); ++i) {
        const AnyMatrix& m = args.m[i];
        for (std::int64_t r = 0; r < m.rows; ++r) {
            if (first + r < range.begin || first + r >= range.end) continue;
            const double sum = plain_dot(m.type, m.w + r * row_bytes(m.type, cols), v.data(), cols);
            const double before =
                args.residual != nullptr ? static_cast<double>(args.residual[r]) : 0.0;
            args.y[i][r] = static_cast<float>(before + sum);
        }
        first += m.rows;
    }
}

}  // namespace

static const Variant<Products> variant{"reference", {.run = run}};

}  // namespace steady
