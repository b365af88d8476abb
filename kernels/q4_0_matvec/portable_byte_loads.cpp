// The bottom of the ladder: one byte at a time, each weight made a float with its scale before it
// meets x. No intrinsics; eight partial sums so that the compiler may use its baseline vectors.
// Expected: the slowest rung above the reference.
#include "kernels/q4_0_matvec/op.h"

namespace steady {
namespace {

void run(const Q4_0Matvec::Args& args, Range range) noexcept {
    const MatvecShape& shape = args.shape;
    const std::int64_t n_blocks = shape.cols / 32;
    const auto* w = reinterpret_cast<const BlockQ4_0*>(args.w);
    for (std::int64_t r = range.begin; r < range.end; ++r) {
        const float* x = args.x.f32 + r / shape.rows * shape.cols;
        float sums[8] = {};
        for (std::int64_t b = 0; b < n_blocks; ++b) {
            const BlockQ4_0& block = w[r * n_blocks + b];
            for (int j = 0; j < 16; ++j) {
                const float d = half_to_float(block.d);
                const float low = d * static_cast<float>((block.qs[j] & 15) - 8);
                const float high = d * static_cast<float>((block.qs[j] >> 4) - 8);
                sums[j % 8] += low * x[32 * b + j] + high * x[32 * b + j + 16];
            }
        }
        args.y[r] = ((sums[0] + sums[1]) + (sums[2] + sums[3])) +
                    ((sums[4] + sums[5]) + (sums[6] + sums[7]));
    }
}

}  // namespace

static const Variant<Q4_0Matvec> variant{"portable_byte_loads", {.run = run}};

}  // namespace steady
