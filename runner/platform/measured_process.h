// One run of a command that is measured from outside: how it ended, what it printed, and what the
// kernel counted for it and for its children. Nothing that it started stays behind. The command
// runs below steady-launch (runner/launch), which keeps our own memory out of its peak.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runner/platform/process.h"
#include "runner/platform/spawn.h"

namespace steady {

// Most bytes that a run or a session may print; more is a flood.
constexpr std::size_t kMostOutput = std::size_t{64} << 20U;

struct MeasuredCommand {
    std::vector<std::string> argv;           // argv[0]: a path, or a name that env's PATH finds
    std::map<std::string, std::string> env;  // the whole environment of the command
    std::string directory;                   // empty: ours
    std::string input_file;                  // its stdin; empty: nothing to read
    double time_limit_s = 600;
    std::size_t output_cap = std::size_t{16} << 20U;   // bytes on stdout and stderr, each
    std::size_t stderr_keep = std::size_t{32} << 10U;  // first and last so many bytes of stderr
    Limits limits;
    std::optional<Identity> run_as;
    const StopSignal* stop = nullptr;
    std::vector<int> keep_fds{};  // stay open in the command
    // Stands before the launcher: a confinement. It hands its own environment through, not `env`.
    std::vector<std::string> prefix{};
    std::shared_ptr<const ProcessTree> tree{};  // it lives in; see process_tree.h
};

struct Usage {
    double wall_s = 0;                   // from the start of the process to its end
    double user_s = 0, system_s = 0;     // all its threads and the children that it waited for
    std::int64_t peak_memory_bytes = 0;  // resident, of the largest process
    std::int64_t page_faults = 0;        // without disk
    std::int64_t major_faults = 0;       // with disk
    std::int64_t context_switches = 0;
};

struct MeasuredRun {
    ChildEnd end;    // ending, code, out, err; end.describe() is one sentence
    Usage usage;     // counts whichever way it ended
    int n_left = 0;  // processes that outlived the command and were killed
};

// Runs the command to its end, its time limit, its output cap or a stop, whichever comes first, and
// kills everything that it started. Throws Error when it cannot be started.
MeasuredRun run_measured(const MeasuredCommand& command);

// Where the launcher lies: a confinement must show it.
std::string launcher_path();

// What the adapter `process` reads.
std::string usage_json(const Usage& usage);

}  // namespace steady
