// The two arms of an outside program made ready to run: built where the file says so, at one path
// for both, and each with the facts that tell its bytes from the other's.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "runner/judge/program_report.h"
#include "runner/programs/build/build_site.h"
#include "runner/programs/build/program_facts.h"
#include "runner/programs/command/command_run.h"
#include "runner/record/record.h"
#include "runner/spec/spec.h"

namespace steady {

struct CommandSetup {
    const Spec* spec = nullptr;  // must outlive the executor
    std::string directory;       // absolute: where commands run that are not built
    std::string repository;      // path of subject.repo; empty without one
    std::string project;         // where Steady writes questions and entries; see Source
    std::string model_path;      // of subject.model; empty without one
    int host_lock_fd = -1;       // inherited by every child
    const StopSignal* stop = nullptr;
    bool discard_noisy = true;
    std::function<void(const std::string&)> message;  // one line for people
    std::optional<Confinement> confinement{};  // of builds and runs; absent: the caller's rights
    std::optional<BuildRecipe> recipe{};       // a registered program's; absent: subject.build
};

class CommandArms {
public:
    explicit CommandArms(CommandSetup setup);

    // Builds and looks at both arms, once. A build that fails is in the report, not an Error.
    const ProgramReport& prepare();

    // The arm's command for a gate, ready to run: its build lies where it runs.
    CommandLine line(const std::string& arm, const Gate& gate);
    // Some other command beside the arms' outputs, e.g. one that compares them.
    CommandLine beside(const std::vector<std::string>& argv) const;

    // program_a_sha256, program_a_libraries_sha256 and the like.
    void add_facts(Fingerprint& fingerprint) const;
    const CommandSetup& setup() const { return setup_; }

private:
    void build_arm(const std::string& name);
    void describe(const std::string& name);
    void refuse(const std::string& name, const std::string& why);
    std::string directory() const;
    std::map<std::string, std::string> places() const;

    CommandSetup setup_;
    std::unique_ptr<Source> source_;
    std::unique_ptr<BuildSite> site_;
    std::map<std::string, Build> builds_;
    std::map<std::string, ProgramFacts> facts_;
    std::optional<ProgramReport> report_;
};

// What is wrong with the commands before anything is built or queued: a program that does not
// exist, a revision that cannot be found. Returns the commits that the arms' revisions are now;
// throws Error.
std::map<std::string, std::string> check_command_arms(const CommandSetup& setup);

}  // namespace steady
