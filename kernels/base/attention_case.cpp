// Plain sums in double.
#include "kernels/base/attention_case.h"

#include <algorithm>
#include <cmath>

#include "kernels/base/case.h"

namespace steady {

AttentionWeights expect_attention(const double* q, const double* rows, std::int64_t n_positions,
                                  std::int64_t width, double scale) {
    AttentionWeights expected;
    double score_error = 0;
    double largest = -INFINITY;
    for (std::int64_t t = 0; t < n_positions; ++t) {
        double sum = 0;
        double magnitude = 0;
        for (std::int64_t i = 0; i < width; ++i) {
            const double product = q[i] * rows[t * width + i];
            sum += product;
            magnitude += std::fabs(product);
        }
        expected.weight.push_back(sum * scale);
        largest = std::max(largest, sum * scale);
        score_error = std::max(score_error,
                               (static_cast<double>(width) / 8 + 10) * kUnit * magnitude * scale);
    }
    double total = 0;
    for (double& weight : expected.weight) {
        weight = std::exp(weight - largest);
        total += weight;
    }
    for (double& weight : expected.weight) weight /= total;
    expected.log_sum = largest + std::log(total);
    expected.error = 2 * score_error + 4 * kUnit * std::fabs(largest);
    return expected;
}

}  // namespace steady
