// The loose composition: each chosen row is first made floats in memory, then multiplied, as a
// framework without a quantised product does it. Expected: behind portable_online, which never
// writes the floats down; both far behind any variant with integer products.
#include "kernels/q4_0_experts/portable.h"

namespace steady {
namespace {

float dot(const std::byte* row, const float* x, std::int64_t n_blocks) {
    constexpr std::int64_t kStep = 256;
    float values[kStep];
    float sums[8] = {};
    const std::int64_t cols = 32 * n_blocks;
    for (std::int64_t c = 0; c < cols; c += kStep) {
        const std::int64_t n = cols - c < kStep ? cols - c : kStep;
        dequantize(Type::q4_0, row + row_bytes(Type::q4_0, c), values, n);
        for (std::int64_t i = 0; i < n; i += 8) {
            for (std::int64_t k = 0; k < 8; ++k) sums[k] += values[i + k] * x[c + i + k];
        }
    }
    return ((sums[0] + sums[1]) + (sums[2] + sums[3])) +
           ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}

}  // namespace

static const Variant<Q4_0Experts> variant{"portable_dequantised",
                                          {.run = experts_portable::run<dot>}};

}  // namespace steady
