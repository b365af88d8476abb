// Beside the detector of change_points.h: how large a change of level is, with its interval, and a
// second, published detector as a cross-check.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "runner/statistics/statistics.h"

namespace steady {

// after - before, by the two-sample Hodges-Lehmann estimate with the interval that belongs to the
// rank-sum test (normal approximation). Of longer segments the 1000 values beside the change count.
struct LevelShift {
    double estimate = 0;
    std::optional<double> low, high;  // absent: too few values for this confidence
};
LevelShift level_shift(Values before, Values after, double confidence = 0.95);

struct EDivisiveOptions {
    double alpha = 1;            // exponent of the distances, in (0, 2]
    double significance = 0.01;  // of each split's permutation test
    int permutations = 199;      // so the smallest p is 0.005
    std::size_t minseg = 4;      // shortest segment
    std::uint64_t seed = 1;      // of the permutations
};

// E-Divisive (Matteson and James, A nonparametric approach for multiple change point analysis of
// multivariate data, JASA 2014), with the right segment always to the end of the part that is
// split, as performance tracking uses it (Daly et al., ICPE 2020). Change points in order.
std::vector<std::size_t> edivisive(Values y, const EDivisiveOptions& options = {});

}  // namespace steady
