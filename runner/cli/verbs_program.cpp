// Programs of others on this machine: which ones a worker may build and run, and a first confined
// run of each, before an experiment depends on it.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "kernels/base/error.h"
#include "runner/adapters/adapter.h"
#include "runner/base/json_reader.h"
#include "runner/base/text.h"
#include "runner/cli/jobs.h"
#include "runner/cli/verbs.h"
#include "runner/platform/host_lock.h"
#include "runner/programs/command/readings.h"
#include "runner/programs/registry/registry.h"
#include "runner/spec/spec_command.h"

namespace steady {
namespace {

std::string folder_of(const Arguments& arguments) {
    return arguments.get("programs", programs_folder());
}

std::string one_line(const std::vector<std::string>& command) {
    return escape_line(fmt::format("{}", fmt::join(command, " ")));
}

nlohmann::json program_json(const RegisteredProgram& program) {
    return {{"name", program.name},       {"repository", program.repository},
            {"refs", program.refs},       {"run", program.run},
            {"network", program.network}, {"tag", "program:" + program.name}};
}

// What came of one command of the registration.
struct Trial {
    std::vector<std::string> command;
    std::string trouble;  // empty: it works
    double seconds = 0;
    std::vector<AdapterRow> rows;
};

// As an experiment would run and read it; the first adapter counts.
Trial try_command(const RegisteredProgram& program, const std::string& directory,
                  const std::vector<std::string>& command) {
    Trial trial;
    trial.command = command;
    const std::string adapter = program.adapters.empty() ? "process" : program.adapters.front();
    try {
        const AdapterRun read =
            run_adapter(*find_adapter(adapter),
                        {.argv = fill_placeholders(command, {{"src", directory}}),
                         .env = {},
                         .directory = directory,
                         .stop = &interrupt_signal(),
                         .confinement = confinement_of(program)},
                        {});
        if (read.run.end.ending == Ending::cancelled) throw Error("stopped", kExitInterrupted);
        trial.seconds = read.run.usage.wall_s;
        trial.rows = read.rows;
        trial.trouble = read.error;
    } catch (const Error& error) {
        if (error.exit_code == kExitInterrupted) throw;
        trial.trouble = error.what();
    }
    return trial;
}

std::string trial_text(const Trial& trial) {
    std::string text =
        fmt::format("{} {}\n", trial.trouble.empty() ? "·" : "!", one_line(trial.command));
    if (!trial.trouble.empty()) return text + fmt::format("    {}\n", trial.trouble);
    text += fmt::format("    ran for {:.3f} s\n", trial.seconds);
    constexpr std::size_t kShown = 8;
    for (std::size_t i = 0; i < trial.rows.size() && i < kShown; ++i) {
        const AdapterRow& row = trial.rows[i];
        std::string labels;
        for (const auto& [name, value] : row.labels) labels += " " + name + "=" + value;
        text += fmt::format("    {} {:.6g} {}{}\n", row.metric, row.value, row.unit,
                            escape_line(shorten(labels, 120)));
    }
    if (trial.rows.size() > kShown) {
        text += fmt::format("    and {} rows more\n", trial.rows.size() - kShown);
    }
    return text;
}

nlohmann::json trial_json(const Trial& trial) {
    nlohmann::json rows = nlohmann::json::array();
    for (const AdapterRow& row : trial.rows) {
        rows.push_back({{"metric", row.metric}, {"value", row.value}, {"unit", row.unit}});
    }
    return {{"command", trial.command},
            {"works", trial.trouble.empty()},
            {"trouble", trial.trouble},
            {"seconds", trial.seconds},
            {"rows", rows}};
}

Revision revision_to_check(const Arguments& arguments, const RegisteredProgram& program,
                           const Source& source) {
    if (!arguments.has("rev")) return allowed_revision(program, source);
    const Revision revision = source.resolve(arguments.get("rev"));
    AskedProgram asked;
    asked.name = program.name;
    asked.revisions = {{revision.asked, source.refs_containing(revision.commit)}};
    const auto against = objections(program, asked);
    if (!against.empty()) throw Error(fmt::format("{}", fmt::join(against, "\n")));
    return revision;
}

}  // namespace

int verb_program_add(const Arguments& arguments) {
    const RegisteredProgram program =
        add_program_file(folder_of(arguments), arguments.words[0], arguments.has("force"));
    return print(arguments, program_json(program),
                 fmt::format("{} is registered; `steady program check {}` builds and runs it once",
                             program.name, program.name));
}

int verb_program_list(const Arguments& arguments) {
    nlohmann::json rows = nlohmann::json::array();
    std::string text;
    for (const RegisteredProgram& program : load_programs(folder_of(arguments))) {
        rows.push_back(program_json(program));
        text += fmt::format("{}  {}  refs {}{}\n", program.name, escape_line(program.repository),
                            escape_line(fmt::format("{}", fmt::join(program.refs, ", "))),
                            program.network ? "  with network" : "");
    }
    if (text.empty()) {
        text = fmt::format("no program is registered in {}\n", folder_of(arguments));
    }
    text.pop_back();
    return print(arguments, {{"folder", folder_of(arguments)}, {"programs", rows}}, text);
}

int verb_program_check(const Arguments& arguments) {
    const auto programs = load_programs(folder_of(arguments));
    const RegisteredProgram& program = find_program(programs, arguments.words[0]);
    if (const auto trouble = confinement_trouble(); !trouble.empty()) throw Error(trouble);
    const Source source(program.repository, &interrupt_signal());
    const Revision revision = revision_to_check(arguments, program, source);
    BuildOptions options;
    options.program = program.name;
    options.confinement = confinement_of(program);
    options.stop = &interrupt_signal();
    if (!arguments.has("quiet")) {
        options.message = [](const std::string& line) { fmt::print(stderr, "{}\n", line); };
    }
    const auto lock = HostLock::acquire(3600, {}, options.stop, options.message);
    if (options.stop->raised()) throw Error("stopped", kExitInterrupted);
    if (!lock) throw Error("another measurement holds this machine for an hour", kExitInternal);
    BuildSite site(source, options);
    const Build build = site.build(revision, recipe_of(program));
    site.place(build);
    nlohmann::json trials = nlohmann::json::array();
    bool works = true;
    std::string text = fmt::format("{} at {} ({}): built in {:.1f} s{}, log {}\n", program.name,
                                   escape_line(revision.asked), revision.commit.substr(0, 12),
                                   build.seconds, build.from_cache ? " earlier" : "", build.log);
    const std::string limits = describe(tree_means());
    text += fmt::format("· limits: {}\n", limits);
    for (const auto& command : example_commands(program)) {
        const Trial trial = try_command(program, site.directory(), command);
        works = works && trial.trouble.empty();
        trials.push_back(trial_json(trial));
        text += trial_text(trial);
    }
    text += works
                ? "a worker on this machine can measure it"
                : "correct what is marked, then `steady program add --force FILE` and check again";
    print(arguments,
          {{"program", program.name},
           {"commit", revision.commit},
           {"works", works},
           {"log", build.log},
           {"limits", limits},
           {"commands", trials}},
          text);
    return works ? kExitOk : kExitInternal;
}

}  // namespace steady
