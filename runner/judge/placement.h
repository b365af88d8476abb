// How much the effect differs between placements of the weights. Where weights lie in memory
// changes speed and stays as it is until they are moved, so pairs are measured in blocks, each on a
// placement of its own. Shown beside the verdict; it takes none back.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runner/plan/sample.h"
#include "runner/statistics/statistics.h"

namespace steady {

// Pairs of one block are measured on one placement.
inline constexpr int kPairsPerPlacement = 3;
// Values that an executor stores with each pair, the same for both arms: a number that names the
// placement, and the seconds that moving the weights took, where they were moved for this pair.
inline constexpr char kPlacement[] = "placement";
inline constexpr char kPlacementSeconds[] = "placement_s";

struct PlacementSpread {
    std::vector<double> medians;  // of the log effects of each placement, in order of measurement
    std::vector<int> pairs;       // of each
    double spread = 0;            // standard deviation between placements, log units
    double p = 1;                 // that effects are exchangeable between placements
    bool depends = false;  // p < 0.01, and the medians differ by more than what is worth having
};

// The number of the placement that a pair was measured on; nothing for records from before.
std::optional<double> placement_of(const Pair& pair);

// d: log effects; placement: the number of each one's. Nothing for fewer than two placements with
// two pairs each. matters: log effect worth having.
std::optional<PlacementSpread> placement_spread(Values d, Values placement, double matters);

// "depends on placement: +0.10 % to +3.20 % on 4 placements of the weights (p 0.002)"; empty when
// it does not.
std::string placement_words(const std::optional<PlacementSpread>& spread);

}  // namespace steady
