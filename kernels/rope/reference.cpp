// Pair by pair, in double.
#include "kernels/rope/op.h"

namespace steady {
namespace {

void run(const Rope::Args& args, Range range) noexcept {
    for (std::int64_t h = range.begin; h < range.end; ++h) {
        float* x = args.x + h * args.stride;
        for (std::int64_t i = 0; i < args.shape.n_rot / 2; ++i) {
            const double a = static_cast<double>(x[2 * i]);
            const double b = static_cast<double>(x[2 * i + 1]);
            const double cos = static_cast<double>(args.cos[i]);
            const double sin = static_cast<double>(args.sin[i]);
            x[2 * i] = static_cast<float>(a * cos - b * sin);
            x[2 * i + 1] = static_cast<float>(a * sin + b * cos);
        }
    }
}

}  // namespace

static const Variant<Rope> variant{"reference", {.run = run}};

}  // namespace steady
