// Runs both arms' command under `perf record` and collects their call stacks. The event is CPU time
// (cpu-clock), which needs no hardware counter: the same on a bare machine and on a virtual one.
#pragma once

#include <functional>
#include <string>

#include "runner/programs/command/command_run.h"
#include "runner/record/stacks.h"

namespace steady {

struct SampleStacks {
    std::string unwinding;  // frame_pointers or dwarf
    int good_exit = 0;      // of the command
    // The arm's command, ready to run: its build lies where it runs until the next call.
    std::function<CommandLine(const std::string& arm)> line;
};

// The arms in turn, until each has run for some seconds. Whatever goes wrong stands in `problem`.
// Throws Error with kExitInterrupted when it was stopped.
StackProfile sampled_stacks(const SampleStacks& asked);

}  // namespace steady
