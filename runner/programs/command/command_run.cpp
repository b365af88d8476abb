// In a process group of its own, below the launcher; see platform/measured_process.h.
#include "runner/programs/command/command_run.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "kernels/base/error.h"
#include "runner/platform/noise.h"
#include "runner/platform/tools.h"

namespace steady {
namespace {

bool executable(const std::string& path) {
    std::error_code error;
    return std::filesystem::is_regular_file(path, error) && ::access(path.c_str(), X_OK) == 0;
}

std::string no_program(const std::string& name, const std::string& plain) {
    const std::string place = name == plain ? name : fmt::format("{}, that is {}", name, plain);
    std::error_code error;
    if (std::filesystem::is_directory(plain, error))
        return fmt::format("{} is a folder; name a program in it", place);
    if (!std::filesystem::exists(plain, error)) return "there is no program " + place;
    return fmt::format("{} may not be executed; `chmod +x {}` allows it", place, plain);
}

// The launcher is confined as well: it times the program alone. The host lock stays outside, since
// whoever has the file can unlock it.
void confine(MeasuredCommand& command, const CommandLine& line) {
    Confinement confinement = *line.confinement;
    for (const auto& [name, value] : line.env) confinement.env[name] = value;
    confinement.readable.push_back(launcher_path());
    ConfinedStart start = confined_start(confinement, line.directory);
    command.prefix = std::move(start.prefix);
    command.tree = std::move(start.tree);
    command.env = child_environment();
    command.keep_fds.clear();
}

}  // namespace

std::string program_path(const std::string& name, const std::string& directory) {
    if (name.find('/') != std::string::npos) {
        const std::filesystem::path path = name.front() == '/' ? name : directory + "/" + name;
        const std::string plain = path.lexically_normal().string();
        if (executable(plain)) return plain;
        throw Error(no_program(name, plain));
    }
    if (name.find('=') != std::string::npos) {
        throw Error(fmt::format(
            "{}: commands run without a shell, so this is no variable; write env {} PROGRAM …",
            name, name));
    }
    std::istringstream folders(kProgramFolders);
    for (std::string folder; std::getline(folders, folder, ':');) {
        if (executable(folder + "/" + name)) return folder + "/" + name;
    }
    if (executable(directory + "/" + name)) {
        throw Error(fmt::format("there is no program {} in {}; the one in {} is ./{}", name,
                                kProgramFolders, directory, name));
    }
    const auto elsewhere = find_tool(name);
    throw Error(fmt::format("there is no program {} in {}, where runs look for it; {}", name,
                            kProgramFolders,
                            elsewhere ? "your PATH has " + *elsewhere + ": give that path"
                                      : "name one elsewhere by its path"));
}

std::string other_program(const std::string& name, const std::string& found) {
    if (name.find('/') != std::string::npos) return {};
    const auto callers = find_tool(name);
    std::error_code error;
    if (!callers || std::filesystem::equivalent(*callers, found, error) || error) return {};
    return *callers;
}

std::string CommandRun::how() const {
    if (end.ending != Ending::output_cap) return end.describe();
    return fmt::format(
        "output_cap: it printed more than {} MiB; let it write to a file, or run it as sh -c "
        "'… > /dev/null'",
        kMostOutput >> 20U);
}

MeasuredCommand measured_command(const CommandLine& line) {
    MeasuredCommand command;
    command.argv = line.argv;
    command.argv[0] = program_path(line.argv.at(0), line.directory);
    command.env = child_environment();
    // What a program of the caller's keeps at home: toolchains of cargo, build caches of go.
    const char* home = std::getenv("HOME");
    if (home != nullptr && !line.confinement) command.env["HOME"] = home;
    for (const auto& [name, value] : line.env) command.env[name] = value;
    command.env["PATH"] = kProgramFolders;
    command.directory = line.directory;
    command.time_limit_s = line.timeout_s;
    command.output_cap = kMostOutput;
    command.stop = line.stop;
    if (line.host_lock_fd >= 0) command.keep_fds = {line.host_lock_fd};
    if (line.confinement) confine(command, line);
    return command;
}

CommandRun watched_run(const std::function<MeasuredRun()>& run) {
    const NoiseMark before = noise_mark();
    MeasuredRun measured = run();
    const Noise noise = noise_between(before, noise_mark());
    return {std::move(measured.end), measured.usage, noise.steal_share, noise.busy_others_share};
}

CommandRun run_command(const CommandLine& line) {
    return watched_run([&] { return run_measured(measured_command(line)); });
}

}  // namespace steady
