// Block by block against the definition.
#include "kernels/cases/quantize_error.h"

#include <algorithm>
#include <cmath>

#include "kernels/cases/case.h"

namespace steady {

double worst_quantize_error(const float* x, const std::int8_t* q8, const std::int8_t* low,
                            const float* scale, const std::int32_t* sum, std::int64_t n) {
    // Of x / scale, which is at most 127, three roundings besides.
    const double steps = (low == nullptr ? 0.5 : 1.0 / 256) + 127 * 3 * kUnit;
    double worst = 0;
    for (std::int64_t b = 0; b < n / 32; ++b) {
        const double step = static_cast<double>(scale[b]);
        double largest = 0;
        std::int32_t expected_sum = 0;
        for (std::int64_t i = b * 32; i < b * 32 + 32; ++i) {
            if (q8[i] == -128) return INFINITY;
            const int rest = low == nullptr ? 0 : low[i];
            const double value = (q8[i] + rest / 256.0) * step;
            const double error = std::fabs(value - static_cast<double>(x[i]));
            if (error > 0) worst = std::max(worst, error / (step * steps));
            largest = std::max(largest, std::fabs(static_cast<double>(x[i])));
            expected_sum += low == nullptr ? q8[i] : 256 * q8[i] + rest;
        }
        const double scale_error = std::fabs(step - largest / 127);
        if (scale_error > 0) worst = std::max(worst, scale_error / (2 * kUnit * largest / 127));
        if (expected_sum != sum[b]) return INFINITY;
    }
    return worst;
}

}  // namespace steady
