// A build is placed and its process started before the other's: what a program opens after it said
// `ready` it must name relative to its working directory, which moves with the build.
#include "runner/programs/command/turns.h"

#include <fmt/format.h>

#include "kernels/base/error.h"
#include "runner/judge/analysis_pairs.h"
#include "runner/platform/noise.h"
#include "runner/programs/command/readings.h"
#include "runner/programs/lockstep/lockstep_pair.h"

namespace steady {
namespace {

ChildOptions child_of(const CommandLine& line) {
    const MeasuredCommand command = measured_command(line);
    ChildOptions options;
    options.argv = command.prefix;
    options.argv.insert(options.argv.end(), command.argv.begin(), command.argv.end());
    options.env = command.env;
    options.directory = command.directory;
    options.limits = command.limits;
    if (!line.confinement) options.host_lock_fd = line.host_lock_fd;
    options.stop = command.stop;
    options.tree = command.tree;
    return options;
}

// Each turn's statistic, for every metric that all turns have.
void take(const Gate& gate, const std::vector<std::vector<AdapterRow>>& turns, const char* arm,
          std::map<std::string, std::vector<double>>& values,
          std::map<std::string, std::string>& units) {
    for (const auto& rows : turns) {
        Readings readings;
        try {
            readings = readings_of(gate, rows);
        } catch (const Error& error) {
            throw RunFailed("protocol", error.what(), arm);
        }
        for (const auto& [metric, repetitions] : readings.values) {
            const std::string& unit = readings.units.at(metric);
            if (units.emplace(metric, unit).first->second == unit) {
                values[metric].push_back(run_statistic(repetitions, gate.stat));
            } else if (metric == gate.metric) {
                throw RunFailed("protocol",
                                fmt::format("it measured {} in {}, and in {} a turn before; let it "
                                            "print one unit",
                                            metric, unit_text(unit), unit_text(units[metric])),
                                arm);
            }
        }
    }
    std::erase_if(values, [&](const auto& one) { return one.second.size() != turns.size(); });
}

}  // namespace

TurnValues measure_turns(const Gate& gate, const ScheduleSpec& schedule, const std::string& coins,
                         const LineOf& a, const LineOf& b) {
    LockstepPlan plan{.a = [&] { return child_of(a()); },
                      .b = [&] { return child_of(b()); },
                      .coins = coins,
                      .warmup_turns = schedule.warmup_runs,
                      .timeout_s = schedule.timeout_s};
    TurnValues out;
    try {
        const NoiseMark before = noise_mark();
        const LockstepTurns turns = take_turns(plan);
        const Noise noise = noise_between(before, noise_mark());
        out.steal_share = noise.steal_share;
        out.busy_others_share = noise.busy_others_share;
        take(gate, turns.a, "A", out.a, out.units_a);
        take(gate, turns.b, "B", out.b, out.units_b);
    } catch (const LockstepFailure& failure) {
        if (failure.outcome == "cancelled") throw Error{"cancelled", kExitInterrupted};
        throw RunFailed(failure.outcome, failure.what(), failure.arm);
    }
    return out;
}

}  // namespace steady
