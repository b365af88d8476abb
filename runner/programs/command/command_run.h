// One run of one command: how it ended, what it printed and what it used.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runner/platform/measured_process.h"
#include "runner/programs/confine/confine.h"

namespace steady {

struct CommandLine {
    std::vector<std::string> argv;  // argv[0]: a path, or a name to be found in kProgramFolders
    std::map<std::string, std::string> env;
    std::string directory;  // absolute
    double timeout_s = 600;
    int host_lock_fd = -1;
    const StopSignal* stop = nullptr;
    std::optional<Confinement> confinement{};  // absent: with the caller's rights
};

struct CommandRun {
    ChildEnd end;
    Usage usage;
    double steal_share = 0, busy_others_share = 0;

    // "exit code 3: …", "timeout: …": one line, redacted.
    std::string how() const;
    // Ended by itself, whatever its exit code.
    bool exited() const { return end.ending == Ending::exited; }
};

// Where programs named without a path are looked for, and PATH of every run.
constexpr char kProgramFolders[] = "/usr/local/bin:/usr/bin:/bin";

// The absolute path of the program that argv[0] names from that directory. Throws Error naming
// where was looked.
std::string program_path(const std::string& name, const std::string& directory);

// What the caller's PATH finds under that name, where it is another file than `found`.
std::string other_program(const std::string& name, const std::string& found);

// With a fixed environment beside the line's own, and HOME as it is unless it is confined. Throws
// Error when there is no such program.
MeasuredCommand measured_command(const CommandLine& line);

// The run that `run` makes, and what others did to the machine meanwhile.
CommandRun watched_run(const std::function<MeasuredRun()>& run);

CommandRun run_command(const CommandLine& line);

}  // namespace steady
