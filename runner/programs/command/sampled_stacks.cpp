// `perf script` reads what a measured program may have written, so it runs where the program ran:
// confined, if the program was.
#include "runner/programs/command/sampled_stacks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/base/error.h"
#include "runner/base/text.h"
#include "runner/programs/command/scratch_folder.h"

namespace steady {
namespace {

constexpr double kEnough_s = 3;                    // of CPU time, of each arm
constexpr int kMostRounds = 20;                    // for commands of milliseconds
constexpr double kMostSamples = 6000;              // of one run: bounds what perf script prints
constexpr int kHighest_hz = 997, kLowest_hz = 19;  // prime: in step with no timer of the program

// The command behind other words, with a folder that it may write to.
CommandRun run_beside(CommandLine line, std::vector<std::string> before,
                      const ScratchFolder& folder, bool command) {
    if (!command) line.argv.clear();
    line.argv.insert(line.argv.begin(), before.begin(), before.end());
    if (line.confinement) line.confinement->writable.push_back(folder.path());
    CommandRun run = run_command(line);
    if (run.end.ending == Ending::cancelled) throw Error{"cancelled", kExitInterrupted};
    return run;
}

[[noreturn]] void fail(const std::string& what, const CommandRun& run) {
    throw Error(fmt::format("{}: {}", what, shorten(safe_line(run.how()), 400)));
}

double cpu_s(const CommandRun& run) { return run.usage.user_s + run.usage.system_s; }

// One run of the arm; what it used of the CPUs.
double sample(const SampleStacks& asked, const std::string& arm, int hz, Stacks& stacks) {
    const ScratchFolder folder;
    if (asked.line(arm).confinement) give_to_confined(folder.path());
    const std::string data = folder.file("stacks");
    const bool dwarf = asked.unwinding == "dwarf";
    const CommandRun run = run_beside(
        asked.line(arm),
        {"perf", "record", "--quiet", "--no-buildid-cache", "--event", "cpu-clock", "--freq",
         std::to_string(hz), "--call-graph", dwarf ? "dwarf,16384" : "fp", "--output", data, "--"},
        folder, true);
    if (!run.end.exited_with(asked.good_exit)) fail("perf record of arm " + arm, run);
    const CommandRun read = run_beside(asked.line(arm),
                                       {"perf", "script", "--force", "--no-inline", "--fields",
                                        "comm,ip,sym,dso", "--input", data},
                                       folder, false);
    if (!read.end.exited_with(0)) fail("perf script of arm " + arm, read);
    add_perf_script(read.end.out, stacks);
    return cpu_s(run);
}

// A run that is not sampled tells how often the next ones can be.
int rate_of(const SampleStacks& asked) {
    const CommandRun run = run_command(asked.line("A"));
    if (run.end.ending == Ending::cancelled) throw Error{"cancelled", kExitInterrupted};
    const double most = kMostSamples / std::max(1e-3, cpu_s(run));
    return static_cast<int>(std::clamp(most, double{kLowest_hz}, double{kHighest_hz}));
}

void sample_both(const SampleStacks& asked, StackProfile& profile) {
    profile.hz = rate_of(asked);
    Stacks stacks[2];
    double used_s[2] = {0, 0};
    int rounds = 0;
    while (rounds < kMostRounds && std::min(used_s[0], used_s[1]) < kEnough_s) {
        used_s[0] += sample(asked, "A", profile.hz, stacks[0]);
        used_s[1] += sample(asked, "B", profile.hz, stacks[1]);
        ++rounds;
    }
    if (stacks[0].empty() || stacks[1].empty()) {
        throw Error(
            fmt::format("no sample in {} runs at {} Hz: the command uses too little CPU time",
                        rounds, profile.hz));
    }
    profile.arms["A"] = folded(stacks[0], rounds);
    profile.arms["B"] = folded(stacks[1], rounds);
}

}  // namespace

StackProfile sampled_stacks(const SampleStacks& asked) {
    StackProfile profile;
    profile.unwinding = asked.unwinding;
    try {
        program_path("perf", "/");
    } catch (const Error&) {
        profile.problem =
            fmt::format("there is no perf in {}: apt-get install linux-perf", kProgramFolders);
        return profile;
    }
    try {
        sample_both(asked, profile);
    } catch (const Error& error) {
        if (error.exit_code == kExitInterrupted) throw;
        profile.problem = error.what();
    }
    return profile;
}

}  // namespace steady
