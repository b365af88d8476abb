// One pair of an outside program in lockstep: both arms' processes, their turns by coin, and the
// values of each turn.
#pragma once

#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "runner/programs/command/command_run.h"
#include "runner/spec/spec.h"

namespace steady {

// A run or a turn of an arm failed where its value was needed.
struct RunFailed : std::runtime_error {
    RunFailed(std::string how, const std::string& text, std::string of = "")
        : std::runtime_error(text), outcome(std::move(how)), arm(std::move(of)) {}
    std::string outcome;  // crash, signal, timeout, oom, output_cap, protocol, error
    std::string arm;      // "A" or "B"; empty: the one whose turn it was
};

struct TurnValues {
    // metric → one value per turn, in order; only metrics that every turn of the arm reported
    std::map<std::string, std::vector<double>> a, b;
    std::map<std::string, std::string> units_a, units_b, units;
    double steal_share = 0, busy_others_share = 0;
};

using LineOf = std::function<CommandLine()>;  // places the arm's build and says how it is started

// Throws RunFailed, or Error when a program cannot be started or the run was cancelled.
TurnValues measure_turns(const Gate& gate, const ScheduleSpec& schedule, const std::string& coins,
                         const LineOf& a, const LineOf& b);

}  // namespace steady
