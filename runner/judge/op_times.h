// Combines the profiles of several processes, as entry, figure and page show them: op by op, with
// the interval of the difference.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/protocol/session.h"
#include "runner/judge/analysis.h"

namespace steady {

struct OpTime {
    std::string op;
    protocol::ProfileRow a, b;  // no variant: this arm does not call the op
    // Of the op's time, B against A, as a fraction: below zero is less time. Hodges–Lehmann over
    // the processes' log ratios; absent when one arm does not call it.
    std::optional<double> change;
    // 99 %, so that of a dozen ops none looks changed by chance in nine profiles of ten. Open with
    // fewer than 8 processes.
    Interval interval;
};

// Medians over the processes, of which there must be one; process_ns keeps each op's times.
protocol::ProfileReply joined_profiles(const std::vector<protocol::ProfileReply>& processes);

// Most time first.
std::vector<OpTime> op_times(const protocol::ProfileReply& profile);

// Processes behind a profile; 0: the one of a record from before they were joined.
std::size_t profile_processes(const protocol::ProfileReply& profile);

}  // namespace steady
