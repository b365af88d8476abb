// From a run to the values of its metrics: by the adapter that a gate names, picked by its select.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "runner/adapters/adapter.h"
#include "runner/platform/adapter_run.h"
#include "runner/programs/command/command_run.h"
#include "runner/spec/spec.h"

namespace steady {

struct Readings {
    std::map<std::string, std::vector<double>> values;  // metric → repetitions
    std::map<std::string, std::string> units;
};

struct ReadRun {
    CommandRun run;
    Readings readings;  // empty when the run did not end well
};

// Runs the command as the adapter asks; a confined one gets a folder for its results.
AdapterRun run_adapter(const Adapter& adapter, CommandLine line, AdapterOptions options);

// What rows tell under the gate's selection; the gate's own metric must be among them. Throws
// Error.
Readings readings_of(const Gate& gate, const std::vector<AdapterRow>& rows);

// Runs the command in the way in which its adapter can read it, and takes everything that it tells
// under the gate's selection, with what the kernel counted beside. Nothing is read of a run that
// did not end with `good_exit`. Throws Error when the output is
// not what the adapter reads or does not hold the gate's metric.
ReadRun run_and_read(const Gate& gate, const CommandLine& line, int good_exit = 0);

}  // namespace steady
