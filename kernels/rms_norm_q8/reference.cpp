// The two ops one after the other.
#include "kernels/cases/case.h"
#include "kernels/rms_norm/op.h"
#include "kernels/rms_norm_q8/op.h"

namespace steady {

static void run(const RmsNormQ8::Args& args, Range range) noexcept {
    if (range.begin >= range.end) return;
    plain_rms_norm({{args.shape.n}, args.x, args.w, args.eps, args.y});
    quantize_plain(args.y, args.shape.n, args.q8, args.scale, args.sum);
}

static const Variant<RmsNormQ8> variant{"reference", {.run = run}};

}  // namespace steady
