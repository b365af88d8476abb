// As portable_hoisted_scale, but the quants are loaded sixteen bits at a time: four weights per
// load, as the first GPU kernels of this format did. Expected: no gain over bytes on a CPU, whose
// loads are not the bottleneck of scalar code.
#include <cstring>

#include "kernels/layouts/q4_0_portable.h"
#include "kernels/q4_0_matvec/op.h"

namespace steady {
namespace {

void add_u16(const BlockQ4_0& block, const float* x, float* sums) {
    float block_sums[8] = {};
    for (int j = 0; j < 16; j += 2) {
        std::uint16_t four;
        std::memcpy(&four, block.qs + j, sizeof four);
        block_sums[j % 8] += static_cast<float>((four & 15) - 8) * x[j] +
                             static_cast<float>(((four >> 4) & 15) - 8) * x[j + 16];
        block_sums[j % 8 + 1] += static_cast<float>(((four >> 8) & 15) - 8) * x[j + 1] +
                                 static_cast<float>((four >> 12) - 8) * x[j + 17];
    }
    const float d = half_to_float(block.d);
    for (int j = 0; j < 8; ++j) sums[j] += d * block_sums[j];
}

}  // namespace

static const Variant<Q4_0Matvec> variant{"portable_u16_loads",
                                         {.run = q4_0_portable::matvec<add_u16>}};

}  // namespace steady
