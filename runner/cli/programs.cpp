// A new kind of program is one more implementation of Executor and one more case here.
#include "runner/cli/programs.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "kernels/base/error.h"
#include "runner/cli/workspace.h"
#include "runner/platform/files.h"
#include "runner/platform/fingerprint.h"
#include "runner/platform/settings.h"
#include "runner/programs/command/command_executor.h"
#include "runner/programs/registry/registry.h"
#include "runner/programs/steady_engine/engine_executor.h"
#include "runner/queue/submit.h"
#include "runner/spec/spec_runnable.h"
#include "runner/spec/spec_sweep.h"

namespace steady {
namespace {

namespace fs = std::filesystem;

EngineExecutorOptions engine_setup(const Spec& spec, const Arguments& arguments,
                                   const ProgramUse& use) {
    const Workload workload = load_workload(spec.subject.workload);
    EngineExecutorOptions setup;
    setup.spec = &spec;
    setup.engine_path = engine_path(arguments);
    setup.kernels_path = kernels_path(setup.engine_path);
    setup.model_path = resolve_model(spec.subject.model, arguments, use.submitter, use.stop);
    setup.workload_text = workload.text;
    setup.prompt_tokens = workload.prompt_tokens;
    setup.depth = workload.depth;
    setup.weights = use.weights;
    setup.host_lock_fd = use.host_lock_fd;
    setup.stop = use.stop;
    return setup;
}

ReadyProgram ready_engine(const Spec& spec, const Arguments& arguments, const ProgramUse& use) {
    const EngineExecutorOptions setup = engine_setup(spec, arguments, use);
    ReadyProgram ready;
    add_file(ready.facts, "engine", setup.engine_path);
    add_file(ready.facts, "model", setup.model_path);
    for (const Gate& gate : spec.gates) {
        if (gate.level == Level::micro) add_file(ready.facts, "kernels", setup.kernels_path);
    }
    ready.executor = std::make_unique<EngineExecutor>(setup);
    return ready;
}

CommandSetup command_setup(const Spec& spec, const Arguments& arguments, const ProgramUse& use) {
    CommandSetup setup;
    setup.spec = &spec;
    setup.directory = fs::current_path().string();
    setup.repository = resolve_repository(spec.subject.repo);
    setup.project = project_root();
    if (!spec.subject.model.empty())
        setup.model_path = resolve_model(spec.subject.model, arguments, use.submitter, use.stop);
    setup.host_lock_fd = use.host_lock_fd;
    setup.stop = use.stop;
    setup.message = use.message;
    return setup;
}

// For somebody who is not at this machine: as registered, else any command where the worker was
// started for that; confined in both cases.
CommandSetup confined_setup(const Spec& spec, const Arguments& arguments, const ProgramUse& use) {
    CommandSetup setup;
    setup.spec = &spec;
    setup.stop = use.stop;
    setup.message = use.message;
    const auto programs = load_programs(arguments.get("programs", programs_folder()));
    const bool registered = std::any_of(programs.begin(), programs.end(), [&](const auto& one) {
        return one.name == spec.subject.name;
    });
    if (registered || !arguments.has("commands")) {
        const RegisteredProgram& program = find_program(programs, spec.subject.name);
        const auto against =
            objections(program, asked_of(spec, Source(program.repository, use.stop)));
        if (!against.empty()) {
            throw Error(fmt::format("{} may not run here: {}", spec.subject.name,
                                    fmt::join(against, "; ")));
        }
        setup.repository = program.repository;
        setup.recipe = recipe_of(program);
        setup.confinement = confinement_of(program);
    } else {
        setup.repository = resolve_repository(spec.subject.repo);
        setup.confinement = Confinement{};
        setup.directory = state_dir() + "/empty";
        make_directories(setup.directory);
    }
    if (!spec.subject.model.empty()) {
        setup.model_path = resolve_model(spec.subject.model, arguments, use.submitter, use.stop);
        setup.confinement->readable.push_back(setup.model_path);
    }
    return setup;
}

ReadyProgram ready_command(const Spec& spec, const Arguments& arguments, const ProgramUse& use) {
    const CommandSetup setup = use.place == RunPlace::here ? command_setup(spec, arguments, use)
                                                           : confined_setup(spec, arguments, use);
    auto executor = std::make_unique<CommandExecutor>(setup);
    executor->open();
    ReadyProgram ready;
    executor->add_facts(ready.facts);
    if (!setup.model_path.empty()) add_file(ready.facts, "model", setup.model_path);
    ready.executor = std::move(executor);
    return ready;
}

}  // namespace

ReadyProgram ready_program(const Spec& spec, const Arguments& arguments, const ProgramUse& use) {
    return is_outside(spec) ? ready_command(spec, arguments, use)
                            : ready_engine(spec, arguments, use);
}

std::string resolve_repository(const std::string& name) {
    if (name.empty()) return "";
    if (name == ".") return fs::current_path().string();
    const std::string roots = setting("sources");
    std::istringstream list(roots);
    for (std::string root; std::getline(list, root, ':');) {
        if (!root.empty() && fs::is_directory(root + "/" + name)) return root + "/" + name;
    }
    for (const RegisteredProgram& program : load_programs(programs_folder())) {
        if (program.name == name) return program.repository;
    }
    throw Error(fmt::format(
        "subject.repo \"{}\" is in none of STEADY_SOURCES ({}) and no registered program; set it "
        "to "
        "the folders, colon-separated, that hold repositories, register it with `steady program "
        "add`, or use \".\" in the repository itself",
        name, roots.empty() ? "not set" : roots));
}

std::map<std::string, std::string> check_program(const Spec& spec, const Arguments& arguments,
                                                 const std::shared_ptr<PreparedWeights>& weights) {
    if (const std::string why = why_not_runnable(spec, RunPlace::here); !why.empty())
        throw Error(why);
    ProgramUse use;
    use.weights = weights;
    if (is_outside(spec)) return check_command_arms(command_setup(spec, arguments, use));
    EngineExecutor(engine_setup(spec, arguments, use)).open();
    return {};
}

void check_settings(const Spec& sweep, const Arguments& arguments) {
    for (const SweepChoice& choice : sweep_choices(*sweep.sweep)) {
        if (is_baseline(sweep, choice)) continue;
        const SpecResult one = confirmation_spec(sweep, choice);  // sound: parse_spec looked at it
        check_program(*one.spec, arguments, nullptr);
    }
}

std::vector<std::string> program_tags(const Arguments& arguments) {
    std::vector<std::string> tags;
    for (const auto& program : load_programs(arguments.get("programs", programs_folder()))) {
        tags.push_back(std::string(kProgramTag) + program.name);
    }
    if (arguments.has("commands")) tags.emplace_back(kCommandsTag);
    if (tags.empty()) return tags;
    if (const auto trouble = confinement_trouble(); !trouble.empty()) throw Error(trouble);
    return tags;
}

std::vector<std::string> identity_facts(const Spec& spec) {
    if (!is_outside(spec)) return {"engine_sha256", "model_sha256"};
    return {"program_a_sha256", "program_a_libraries_sha256", "program_b_sha256",
            "program_b_libraries_sha256"};
}

}  // namespace steady
