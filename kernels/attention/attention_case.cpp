// Plain sums in double.
#include "kernels/attention/attention_case.h"

#include <algorithm>
#include <cmath>

#include "kernels/cases/case.h"

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

void expect_rounded_sums(const AttentionWeights& weights, const std::vector<double>& rows,
                         std::int64_t width, std::int64_t n_columns,
                         const std::vector<double>& scales, double weight_steps,
                         std::vector<double>& expected, std::vector<double>& bound) {
    const double chain = static_cast<double>(scales.size()) + 24;
    double largest = 0;
    for (std::size_t t = 0; t < scales.size(); ++t) {
        largest = std::max(largest, weights.weight[t] * scales[t]);
    }
    for (std::size_t c = 0; c < static_cast<std::size_t>(n_columns); ++c) {
        double out = 0;
        double magnitude = 0;
        double stored = 0;  // Σ |whole steps|
        for (std::size_t t = 0; t < scales.size(); ++t) {
            const double v = rows[t * static_cast<std::size_t>(width) + c];
            out += weights.weight[t] * v;
            magnitude += std::fabs(weights.weight[t] * v);
            if (scales[t] > 0) stored += std::fabs(v) / scales[t];
        }
        expected.push_back(out);
        bound.push_back((weights.error + chain * kUnit) * magnitude +
                        (weight_steps > 0 ? 0.501 / weight_steps * largest * stored : 0));
    }
}

double worst_attention_error(const float* out, std::int64_t n_columns, const float* sums,
                             std::int64_t n_heads, const std::vector<double>& expected,
                             const std::vector<double>& bound) {
    std::vector<float> values(out, out + n_heads * n_columns);
    for (std::int64_t h = 0; h < n_heads; ++h) {
        values.push_back(sums[2 * h] + std::log(sums[2 * h + 1]));
    }
    return worst_ratio(values.data(), expected, bound);
}

void allow_for_low_bytes(const AttentionWeights& weights, const StoredRows& stored,
                         double weight_steps, std::int64_t n_columns, double* bound) {
    double largest = 0;
    for (std::size_t t = 0; t < stored.scales.size(); ++t) {
        largest = std::max(largest, weights.weight[t] * stored.scales[t]);
    }
    const auto n = static_cast<std::size_t>(n_columns);
    for (std::size_t i = 0; i < stored.lows.size(); ++i) {
        bound[i % n] += 128 * largest / weight_steps * stored.lows[i];
    }
}

}  // namespace steady
