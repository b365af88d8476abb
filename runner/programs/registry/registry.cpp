// Files are read anew each time: an owner who edits one sees it in the next job.
#include "runner/programs/registry/registry.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "kernels/base/error.h"
#include "runner/base/json_reader.h"
#include "runner/base/text.h"
#include "runner/platform/files.h"
#include "runner/platform/settings.h"
#include "runner/spec/spec_command.h"

namespace steady {
namespace {

namespace fs = std::filesystem;

RegisteredProgram read_program(const std::string& file, const std::string& stem) {
    const ProgramResult result = parse_program(read_named_file(file), stem);
    if (result.program) return *result.program;
    std::string message;
    for (const SpecError& error : result.errors) {
        message += (message.empty() ? "" : "\n") + describe(error, file);
    }
    throw Error(message);
}

// What a registration names on this machine must be there and must be allowed to be shown.
void check_places(const RegisteredProgram& program, const std::string& file) {
    if (!fs::is_directory(program.repository)) {
        throw Error(
            fmt::format("{} /repository: found {}, allowed: a git repository on this "
                        "machine; clone it there first",
                        file, shown_text(program.repository)));
    }
    const std::string state = fs::weakly_canonical(state_dir()).string() + "/";
    for (const std::string& path : program.readable) {
        if ((fs::weakly_canonical(path).string() + "/").starts_with(state)) {
            throw Error(
                fmt::format("{} /readable: found {}, allowed: folders outside Steady's "
                            "state {}",
                            file, shown_text(path), state));
        }
    }
    confinement_prefix(confinement_of(program), "/usr");
}

}  // namespace

std::string programs_folder() {
    const std::string set = setting("programs");
    return set.empty() ? state_dir() + "/programs" : set;
}

std::vector<RegisteredProgram> load_programs(const std::string& folder) {
    std::vector<RegisteredProgram> programs;
    if (!fs::is_directory(folder)) return programs;
    for (const auto& entry : fs::directory_iterator(folder)) {
        if (entry.path().extension() != ".json") continue;
        programs.push_back(read_program(entry.path().string(), entry.path().stem().string()));
    }
    std::sort(programs.begin(), programs.end(),
              [](const auto& x, const auto& y) { return x.name < y.name; });
    return programs;
}

const RegisteredProgram& find_program(const std::vector<RegisteredProgram>& programs,
                                      const std::string& name) {
    std::vector<std::string> names;
    for (const RegisteredProgram& program : programs) {
        if (program.name == name) return program;
        names.push_back(program.name);
    }
    const std::string meant = closest(name, names);
    throw Error(fmt::format(
        "program {} is not registered here{}; registered: {}. `steady program add FILE` registers "
        "one",
        shown_text(name), meant.empty() ? "" : "; did you mean \"" + meant + "\"?",
        names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "))));
}

RegisteredProgram add_program_file(const std::string& folder, const std::string& file,
                                   bool replace) {
    const RegisteredProgram program = read_program(file, "");
    check_places(program, file);
    const std::string target = folder + "/" + program.name + ".json";
    if (fs::exists(target) && !replace) {
        throw Error(fmt::format("{} exists already; `steady program add --force {}` replaces it",
                                target, file));
    }
    make_directories(folder);
    write_file_atomic(target, read_file(file));
    return program;
}

AskedProgram asked_of(const Spec& spec, const Source& source) {
    AskedProgram asked;
    asked.name = spec.subject.name;
    asked.repository = spec.subject.repo;
    asked.build = spec.subject.build;
    for (const auto& [name, arm] : spec.arms) {
        AskedRevision revision{arm.rev, {}};
        if (!arm.rev.empty() && arm.rev != ".") {
            revision.refs = source.refs_containing(source.resolve(arm.rev).commit);
        }
        asked.revisions.push_back(std::move(revision));
        for (const Gate& gate : spec.gates) {
            asked.commands.push_back(arm_command(spec, name, &gate));
            if (!gate.check.empty()) asked.commands.push_back(gate.check);
        }
        asked.env.insert(asked.env.end(), arm.env.begin(), arm.env.end());
    }
    for (const Gate& gate : spec.gates) {
        if (gate.level == Level::correctness) continue;
        asked.adapters.push_back(gate.adapter.empty() ? "process" : gate.adapter);
    }
    return asked;
}

Confinement confinement_of(const RegisteredProgram& program) {
    constexpr std::uint64_t kMegabyte = std::uint64_t{1} << 20U;
    Confinement confinement;
    confinement.readable = program.readable;
    confinement.env = program.env;
    confinement.network = program.network;
    confinement.memory_bytes = program.memory_mb * kMegabyte;
    confinement.scratch_bytes = program.scratch_mb * kMegabyte;
    confinement.processes = program.processes;
    confinement.cpus = program.cpus;
    return confinement;
}

BuildRecipe recipe_of(const RegisteredProgram& program) {
    BuildRecipe recipe;
    recipe.commands = program.build;
    recipe.env = program.env;
    recipe.timeout_s = 60.0 * program.build_minutes;
    return recipe;
}

Revision allowed_revision(const RegisteredProgram& program, const Source& source) {
    for (const std::string& ref : source.refs()) {
        if (ref_allowed(program, {ref})) return source.resolve(ref);
    }
    throw Error(fmt::format("{} has no branch or tag that matches {}; fetch one, or widen \"refs\"",
                            program.repository, fmt::join(program.refs, ", ")));
}

}  // namespace steady
