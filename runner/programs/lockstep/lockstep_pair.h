// Both arms of one pair, each in a process of its own, taking turns by coin.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "runner/programs/lockstep/lockstep_session.h"

namespace steady {

struct LockstepPlan {
    // How each arm's process is started, asked when its turn to start has come.
    std::function<ChildOptions()> a, b;
    std::string coins;     // one per block: '0' A first, '1' B first; not empty
    int warmup_turns = 1;  // of each arm, left out
    int repetitions = 1;   // N of each `run N`
    double timeout_s = 600;
};

struct LockstepTurns {
    std::vector<std::vector<AdapterRow>> a, b;  // by block
};

// Starts both processes, lets them take their turns and ends them. Throws Error when one cannot be
// started, LockstepFailure with the arm that misbehaved.
LockstepTurns take_turns(const LockstepPlan& plan);

}  // namespace steady
