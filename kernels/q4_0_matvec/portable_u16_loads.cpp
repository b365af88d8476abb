// As portable_hoisted_scale, but the quants are loaded sixteen bits at a time: four weights per
// load, as the first GPU kernels of this format did. Expected: no gain over bytes on a CPU, whose
// loads are not the bottleneck of scalar code.
#include <cstring>

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
            for (int j = 0; j < 16; j += 2) {
                std::uint16_t four;
                std::memcpy(&four, block.qs + j, sizeof four);
                const float* at = x + 32 * b + j;
                block_sums[j % 8] += static_cast<float>((four & 15) - 8) * at[0] +
                                     static_cast<float>(((four >> 4) & 15) - 8) * at[16];
                block_sums[j % 8 + 1] += static_cast<float>(((four >> 8) & 15) - 8) * at[1] +
                                         static_cast<float>((four >> 12) - 8) * at[17];
            }
            const float d = half_to_float(block.d);
            for (int j = 0; j < 8; ++j) sums[j] += d * block_sums[j];
        }
        args.y[r] = ((sums[0] + sums[1]) + (sums[2] + sums[3])) +
                    ((sums[4] + sums[5]) + (sums[6] + sums[7]));
    }
}

}  // namespace

static const Variant<Q4_0Matvec> variant{"portable_u16_loads", {.run = run}};

}  // namespace steady
