// A build is moved to the path where it runs when its arm's turn comes; both arms see the same
// path.
#include "runner/programs/command/command_arms.h"

#include <fmt/format.h>

#include <filesystem>

#include "kernels/base/error.h"
#include "runner/spec/spec_command.h"

namespace steady {
namespace {

const Gate& measuring_gate(const Spec& spec) {
    if (const Gate* decides = deciding_gate(spec)) return *decides;
    for (const Gate& gate : spec.gates)
        if (gate.level != Level::correctness) return gate;
    return spec.gates.front();
}

// The layout control B0 comes last: where A or B does not build, nothing else is tried.
std::vector<std::string> arm_names(const Spec& spec) {
    return has_layout_control(spec) ? std::vector<std::string>{"A", "B", "B0"}
                                    : std::vector<std::string>{"A", "B"};
}

}  // namespace

CommandArms::CommandArms(CommandSetup setup) : setup_(std::move(setup)) {}

std::string CommandArms::directory() const { return site_ ? site_->directory() : setup_.directory; }

std::map<std::string, std::string> CommandArms::places() const {
    return {{"src", directory()}, {"model", setup_.model_path}};
}

void CommandArms::build_arm(const std::string& name) {
    const Spec& spec = *setup_.spec;
    ArmReport& arm = report_->arms[name];
    const Revision revision = source_->resolve(spec.arms.at(name).rev);
    arm.settings["rev"] = {.value = revision.commit.empty() ? "uncommitted tree " + revision.tree
                                                            : revision.commit};
    arm.facts["commit"] = revision.commit.empty() ? "none: files as they are" : revision.commit;
    arm.facts["tree"] = revision.tree;
    arm.facts["subject"] = revision.subject;
    if (setup_.message) setup_.message(fmt::format("{}: {}", name, spec.arms.at(name).rev));
    BuildRecipe recipe;
    recipe.commands = spec.subject.build;
    if (setup_.recipe) recipe = *setup_.recipe;
    const Build build = site_->build(revision, recipe);
    arm.facts["build_seconds"] = fmt::format("{:.1f}", build.seconds);
    for (const auto& [tool, version] : build.tools) arm.facts["tool " + tool] = version;
    if (!recipe.commands.empty()) arm.log = log_end(build);
    builds_.emplace(name, build);
}

void CommandArms::describe(const std::string& name) {
    const Spec& spec = *setup_.spec;
    ArmReport& arm = report_->arms[name];
    const ArmSpec& asked = spec.arms.at(name);
    arm.settings["run"] = {.value = joined_words(asked.run)};
    arm.settings["args"] = {.value = joined_words(asked.args)};
    for (const auto& [variable, value] : asked.env)
        arm.settings["env." + variable] = {.value = value};
    const CommandLine run = line(name, measuring_gate(spec));
    const ConfinedStart start =
        run.confinement ? confined_start(*run.confinement, run.directory) : ConfinedStart{};
    const ProgramFacts facts = program_facts(program_path(run.argv[0], run.directory), start);
    const std::string other = run.confinement ? "" : other_program(run.argv[0], facts.path);
    if (!other.empty() && setup_.message) {
        setup_.message(
            fmt::format("{}: {} is {} here; your PATH has {}: give that path if you "
                        "mean it",
                        name, run.argv[0], facts.path, other));
    }
    arm.facts["confined"] = !run.confinement           ? "no"
                            : run.confinement->network ? "yes, with the network"
                                                       : "yes, without a network";
    if (run.confinement) {
        arm.facts["limits"] = steady::describe(*run.confinement->means);
        arm.facts["cpus"] = describe_cpus(*run.confinement);
    }
    arm.facts["program"] = facts.path;
    Fingerprint print;
    add_program(print, "program", facts);
    for (const auto& [key, value] : print) arm.facts[key] = value;
    facts_.emplace(name, facts);
}

const ProgramReport& CommandArms::prepare() {
    if (report_) return *report_;
    report_.emplace();
    const Spec& spec = *setup_.spec;
    if (!setup_.repository.empty() && !source_) {
        source_ = std::make_unique<Source>(setup_.repository, setup_.stop, setup_.project);
        BuildOptions options;
        options.program = spec.subject.name.empty() ? spec.subject.repo : spec.subject.name;
        options.confinement = setup_.confinement;
        options.stop = setup_.stop;
        options.message = setup_.message;
        site_ = std::make_unique<BuildSite>(*source_, options);
    }
    for (const std::string& name : arm_names(spec)) {
        try {
            if (site_) build_arm(name);
            describe(name);
        } catch (const BuildFailed& failure) {
            refuse(name, fmt::format("does not build: {}", failure.what()));
            report_->arms[name].log = failure.log_end;
            break;
        } catch (const Error& error) {
            if (!site_ || error.exit_code != kExitUsage) {
                report_.reset();
                throw;
            }
            const bool built = builds_.contains(name);
            refuse(name,
                   fmt::format("{}: {}{}", built ? "is built, but cannot be run" : "does not build",
                               error.what(),
                               !built ? ""
                               : spec.subject.build.empty()
                                   ? "; the tree holds what is committed: a program that has to "
                                     "be built needs \"build\", with ab --build 'COMMAND'"
                                   : "; commands run in the top folder of the revision"));
            break;
        }
    }
    return *report_;
}

void CommandArms::refuse(const std::string& name, const std::string& why) {
    report_->refused = "build_failed";
    report_->detail = fmt::format("arm {} ({}) {}", name, setup_.spec->arms.at(name).rev, why);
}

CommandLine CommandArms::line(const std::string& arm, const Gate& gate) {
    if (const auto build = builds_.find(arm); build != builds_.end()) site_->place(build->second);
    CommandLine out = beside(fill_placeholders(arm_command(*setup_.spec, arm, &gate), places()));
    out.env = setup_.spec->arms.at(arm).env;
    return out;
}

CommandLine CommandArms::beside(const std::vector<std::string>& argv) const {
    return {.argv = argv,
            .env = {},
            .directory = directory(),
            .timeout_s = setup_.spec->schedule.timeout_s,
            .host_lock_fd = setup_.host_lock_fd,
            .stop = setup_.stop,
            .confinement = setup_.confinement};
}

void CommandArms::add_facts(Fingerprint& fingerprint) const {
    for (const auto& [name, facts] : facts_)
        add_program(fingerprint,
                    name == "A"   ? "program_a"
                    : name == "B" ? "program_b"
                                  : "program_b0",
                    facts);
}

std::map<std::string, std::string> check_command_arms(const CommandSetup& setup) {
    const Spec& spec = *setup.spec;
    std::map<std::string, std::string> commits;
    if (!setup.repository.empty()) {
        const Source source(setup.repository, setup.stop, setup.project);
        for (const std::string& name : arm_names(spec)) {
            const Revision revision = source.resolve(spec.arms.at(name).rev);
            commits[name] = revision.commit.empty() ? "tree " + revision.tree : revision.commit;
        }
        return commits;
    }
    for (const std::string& name : arm_names(spec))
        for (const Gate& gate : spec.gates)
            program_path(arm_command(spec, name, &gate).at(0), setup.directory);
    for (const Gate& gate : spec.gates)
        if (!gate.check.empty()) program_path(gate.check[0], setup.directory);
    return commits;
}

}  // namespace steady
