// Which program an experiment is about, made ready to run: the one place that knows all kinds.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "runner/cli/command_line.h"
#include "runner/programs/steady_engine/prepared_weights.h"
#include "runner/record/record.h"
#include "runner/run/executor.h"
#include "runner/spec/spec_runnable.h"

namespace steady {

class StopSignal;

struct ProgramUse {
    int host_lock_fd = -1;             // inherited by every child
    const StopSignal* stop = nullptr;  // ends the running child
    std::shared_ptr<PreparedWeights> weights;
    std::string submitter{};                          // whose share of the made models counts
    std::function<void(const std::string&)> message;  // one line for people
    RunPlace place = RunPlace::here;
};

struct ReadyProgram {
    std::unique_ptr<Executor> executor;
    Fingerprint facts;  // hashes of everything that runs
};

// Finds, and builds where needed, what the spec names; it must outlive the result. Throws Error for
// what is not there; a build that fails is in the executor's report.
ReadyProgram ready_program(const Spec& spec, const Arguments& arguments, const ProgramUse& use);

// Bad input of an experiment that is to run here, said before a job exists: an engine that refuses
// the arms, a command that does not exist. Returns the commits of the arms' revisions, see
// Submission. Throws Error.
std::map<std::string, std::string> check_program(const Spec& spec, const Arguments& arguments,
                                                 const std::shared_ptr<PreparedWeights>& weights);

// check_program for each setting of a sweep: what would stop one in the middle is found before the
// first is measured.
void check_settings(const Spec& sweep, const Arguments& arguments);

// The tags by which a worker with these options takes programs of others: one for each that its
// owner registered, and one for any command. Throws Error when there are some and nothing can be
// confined here.
std::vector<std::string> program_tags(const Arguments& arguments);

// The path of subject.repo: "." is the repository around the working directory, a name lies under
// STEADY_SOURCES; empty stays empty. Throws Error with the folders that were searched.
std::string resolve_repository(const std::string& name);

// Facts of a fingerprint that must be equal, and known, before another run's evidence counts here.
std::vector<std::string> identity_facts(const Spec& spec);

}  // namespace steady
