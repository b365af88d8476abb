// The formula, in double.
#include "kernels/add/op.h"

namespace steady {
namespace {

void run(const Add::Args& args, Range range) noexcept {
    for (std::int64_t i = range.begin; i < range.end; ++i) {
        args.y[i] =
            static_cast<float>(static_cast<double>(args.y[i]) +
                               static_cast<double>(args.scale) * static_cast<double>(args.x[i]));
    }
}

}  // namespace

static const Variant<Add> variant{"reference", {.run = run}};

}  // namespace steady
