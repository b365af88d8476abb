// The two ops one after the other.
#include <cmath>

#include "kernels/rms_norm_q8/op.h"

namespace steady {
namespace {

void run(const RmsNormQ8::Args& args, Range range) noexcept {
    if (range.begin >= range.end) return;
    const std::int64_t n = args.shape.n;
    double squares = 0;
    for (std::int64_t i = 0; i < n; ++i) {
        squares += static_cast<double>(args.x[i]) * static_cast<double>(args.x[i]);
    }
    const double scale =
        1.0 / std::sqrt(squares / static_cast<double>(n) + static_cast<double>(args.eps));
    for (std::int64_t i = 0; i < n; ++i) {
        const double x = static_cast<double>(args.x[i]) * scale;
        args.y[i] = static_cast<float>(x * static_cast<double>(args.w[i]));
    }
    quantize_plain(args.y, n, args.q8, args.scale, args.sum);
}

}  // namespace

static const Variant<RmsNormQ8> variant{"reference", {.run = run}};

}  // namespace steady
