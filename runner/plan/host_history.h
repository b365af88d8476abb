// What is known about the host and the question before the first pair: it sets the plan's
// detectable effect and the judge's starting scale, and is frozen when a run begins.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace steady {

// What this host knows about a metric and mode before the experiment starts.
struct HostHistory {
    std::optional<double> sigma0;  // from A/A history; absent: none yet
    std::vector<double> aa_pairs;  // last A/A pair values of the deciding metric, log ratios
};

// All that a verdict rests on beside its own pairs, frozen before the first of them: what other
// runs measure later must not change it. Earlier attempts are those at the same question on the
// same machine, engine and model that were not accepted; log E of all of them is summed, and any of
// them removes the final look.
struct Prior {
    HostHistory history;
    std::vector<std::string> attempts;  // ids
    double log_e_accept = 0, log_e_reject = 0;
    std::optional<int> rule;  // the stopping rule that this run began with; absent: the first
};

}  // namespace steady
