// The formula, in double.
#include <cmath>

#include "kernels/swiglu/op.h"

namespace steady {
namespace {

void run(const Swiglu::Args& args, Range range) noexcept {
    for (std::int64_t i = range.begin; i < range.end; ++i) {
        const double gate = static_cast<double>(args.gate[i]);
        const double up = static_cast<double>(args.up[i]);
        args.h[i] = static_cast<float>(gate / (1.0 + std::exp(-gate)) * up);
    }
}

}  // namespace

static const Variant<Swiglu> variant{"reference", {.run = run}};

}  // namespace steady
