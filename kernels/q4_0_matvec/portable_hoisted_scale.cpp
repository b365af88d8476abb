// As portable_byte_loads, but the scale is taken out of the block: quants meet x first, and one
// multiplication per block of 32 applies the scale.
// Expected: faster than portable_byte_loads by the thirty-one multiplications saved.
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
            float block_sums[8] = {};
            for (int j = 0; j < 16; ++j) {
                const float low = static_cast<float>((block.qs[j] & 15) - 8);
                const float high = static_cast<float>((block.qs[j] >> 4) - 8);
                block_sums[j % 8] += low * x[32 * b + j] + high * x[32 * b + j + 16];
            }
            const float d = half_to_float(block.d);
            for (int j = 0; j < 8; ++j) sums[j] += d * block_sums[j];
        }
        args.y[r] = ((sums[0] + sums[1]) + (sums[2] + sums[3])) +
                    ((sums[4] + sums[5]) + (sums[6] + sums[7]));
    }
}

}  // namespace

static const Variant<Q4_0Matvec> variant{"portable_hoisted_scale", {.run = run}};

}  // namespace steady
