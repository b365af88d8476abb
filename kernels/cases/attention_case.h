// What attention over one token's cache should come to, for the ops that differ in how the cache is
// stored: the exact softmax of the scores and how far off its weights may be.
#pragma once

#include <cstdint>
#include <vector>

namespace steady {

struct AttentionWeights {
    std::vector<double> weight;  // softmax over positions
    double error = 0;            // largest relative error of a weight
    double log_sum = 0;          // of e^s over positions
};

// One head: s[t] = scale · (q · rows[t]) for q [width] and rows [n_positions][width]. A score is
// off by at most γ·Σ|q·c| with a chain of width / 8 additions; that error, twice (numerator and
// normaliser), is a relative error of each weight, to which comes the exponential's.
AttentionWeights expect_attention(const double* q, const double* rows, std::int64_t n_positions,
                                  std::int64_t width, double scale);

// Appends the weighted sums of the first n_columns of rows [n_positions][width], and how far off
// they may be: by the weights' error and the chain over positions, and since a position's weight
// times its scale may be rounded to a `weight_steps`-th of the largest such product.
void expect_rounded_sums(const AttentionWeights& weights, const std::vector<double>& rows,
                         std::int64_t width, std::int64_t n_columns,
                         const std::vector<double>& scales, double weight_steps,
                         std::vector<double>& expected, std::vector<double>& bound);

// The largest share of a bound that outputs [n_heads][n_columns], followed by the logarithms of
// each head's Σ e^score, kept as `sums` [n_heads][2] (largest score, Σ e^(score − largest)), are
// off by.
double worst_attention_error(const float* out, std::int64_t n_columns, const float* sums,
                             std::int64_t n_heads, const std::vector<double>& expected,
                             const std::vector<double>& bound);

}  // namespace steady
