// Two plain passes: the sum of squares in double, then the products.
#include <cmath>

#include "kernels/rms_norm/op.h"

namespace steady {

void plain_rms_norm(const RmsNorm::Args& args) noexcept {
    const std::int64_t n = args.shape.n;
    double squares = 0;
    for (std::int64_t i = 0; i < n; ++i) {
        squares += static_cast<double>(args.x[i]) * static_cast<double>(args.x[i]);
    }
    const double mean = squares / static_cast<double>(n);
    const double scale = 1.0 / std::sqrt(mean + static_cast<double>(args.eps));
    for (std::int64_t i = 0; i < n; ++i) {
        args.y[i] = static_cast<float>(static_cast<double>(args.x[i]) * scale *
                                       static_cast<double>(args.w[i]));
    }
}

static void run(const RmsNorm::Args& args, Range range) noexcept {
    if (range.begin < range.end) plain_rms_norm(args);
}

static const Variant<RmsNorm> variant{"reference", {.run = run}};

}  // namespace steady
