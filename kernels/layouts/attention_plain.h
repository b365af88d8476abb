// Softmax and weighted sum in plain loops and double, for references whose cache gives a value.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace steady {

// Scores p[n] become weights e^(s − largest); out[c] = Σ_t p[t] · value(t, c) / Σ p.
template <class Value>
void weighted_mean(float* p, std::int64_t n, Value value, std::int64_t n_columns, float* out) {
    const auto largest = static_cast<double>(*std::max_element(p, p + n));
    double total = 0;
    for (std::int64_t t = 0; t < n; ++t) {
        const double weight = std::exp(static_cast<double>(p[t]) - largest);
        p[t] = static_cast<float>(weight);
        total += weight;
    }
    for (std::int64_t c = 0; c < n_columns; ++c) {
        double sum = 0;
        for (std::int64_t t = 0; t < n; ++t) sum += static_cast<double>(p[t]) * value(t, c);
        out[c] = static_cast<float>(sum / total);
    }
}

}  // namespace steady
