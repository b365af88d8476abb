// Where a series changes its level: optimal partitioning with pruning (PELT) on a robust form of
// the series, each point then verified on the raw values. The same core finds the end of warm-up
// (steady_state.h). A change point is the index of the first element of the new segment.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "runner/statistics/statistics.h"

namespace steady {

struct Partition {
    std::vector<std::size_t> change_points;
    double objective = 0;  // segments' squared error + beta · number of change points
};

// Exact minimum of the objective over partitions into segments of at least minseg values.
// A series shorter than two segments has no change point.
Partition pelt_l2(Values y, double beta, std::size_t minseg);

// Noise scale of x from its first differences: 1.48·median|Δ|/√2, falling back to the sd (ddof 0)
// and then to 1 for constant series.
double difference_scale(Values x);

// x pulled to within two scales of its running 7-median, in units of the scale.
std::vector<double> robust_z(Values x, double scale);

struct ChangePointOptions {
    bool log_transform = true;
    double k = 6;  // penalty = k · ln n
    std::size_t minseg = 4;
    double alpha = 0.001;          // each point must reach this rank-sum p
    double min_magnitude = 0.005;  // smallest shift of medians, log units
    // The scale where most neighbouring values are equal, as counted work is; 0: the deviation of
    // the whole series, in which a few changes of level hide each other.
    double exact_scale = 0;
};

struct ChangePoints {
    double scale = 0, beta = 0;
    std::vector<std::size_t> pelt;           // before verification
    std::vector<std::size_t> change_points;  // after it
    std::vector<double> segment_medians;     // of the transformed values
    std::vector<double> pvalues;             // one per change point
};

// y: one value per run, positive when log_transform is set. Fewer than 2·minseg values: none.
ChangePoints robust_change_points(Values y, const ChangePointOptions& options = {});

// Energy statistic of the best split: y[0..tau) against y[tau..kappa).
struct EnergySplit {
    double q = kUndefined;
    std::optional<std::size_t> tau, kappa;
};
// alpha in (0, 2]: exponent of the distances. Fewer than four values: undefined.
EnergySplit edivisive_q_argmax(Values y, double alpha = 1);

struct Cusum {
    std::vector<std::pair<double, double>> path;  // upper and lower sum after each value
    std::optional<std::size_t> first_alarm;
};
// z: standardised values. Alarm when a sum exceeds h.
Cusum tabular_cusum(Values z, double k = 0.5, double h = 4);

}  // namespace steady
