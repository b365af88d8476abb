// Whether the effect depends on the machine's speed of the moment: pairs measured while the machine
// was fast may show another effect than those measured while it was slow, and one number then
// describes neither. Shown beside the verdict; it takes none back.
#pragma once

#include <optional>
#include <string>

#include "runner/statistics/statistics.h"

namespace steady {

struct MachineState {
    double fast = 0, slow = 0;  // median log effect in the faster and the slower half of the pairs
    double p = 1;               // Kendall's, two-sided, of the effect against the pair's own speed
    double gap = 0;             // of the effect, between the halves: |fast − slow|
    bool depends = false;       // p < 0.01, and the halves differ by more than `matters`
};

// d: log effects of the pairs. slowness: of the same pairs, ln of the geometric mean of both arms'
// times, which exchanging the arms leaves as it is. matters: log effect worth having. Nothing for
// fewer than nine pairs.
std::optional<MachineState> machine_state(Values d, Values slowness, double matters);

// Two groups of pairs, one measured while the machine was fast and one while it was slow, cut where
// their effects differ most.
struct SpeedGroups {
    double fast = 0, slow = 0;  // median log effect of each group
    std::size_t n_fast = 0, n_slow = 0;
    double p = 1;        // that the effect does not depend on the speed, whatever the cut
    bool apart = false;  // p < 0.01, and the medians differ by more than `matters`
};

// As machine_state, for ten pairs or more; each group has a fifth of them and at least three.
std::optional<SpeedGroups> speed_groups(Values d, Values slowness, double matters);

// "depends on machine state: −0.07 % in the faster half of the pairs, +9.00 % in the slower
// (Kendall's p 0.0004)"; empty when it does not.
std::string state_words(const std::optional<MachineState>& state);

}  // namespace steady
