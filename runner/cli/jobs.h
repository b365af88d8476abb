// An experiment as a job: shared by `run`, `rerun`, `worker`, `aa`, `selftest` and `demo`. Every
// measurement goes through the queue, so that two never run at the same time on one machine.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "runner/cli/command_line.h"
#include "runner/programs/steady_engine/prepared_weights.h"
#include "runner/queue/submit.h"
#include "runner/queue/worker.h"
#include "runner/record/record.h"
#include "runner/spec/spec_runnable.h"

namespace steady {

// The experiment function of the queue: makes the program ready (programs.h), runs the ladder,
// returns the verdict. Progress goes to stderr unless --quiet. The weights stay for the next job.
// In the queue, programs of others run as this worker's options allow, and confined.
JobResult run_job(Job& job, const Arguments& arguments,
                  const std::shared_ptr<PreparedWeights>& weights, RunPlace place = RunPlace::here);

// A file that was decided before: measure it again, or take the record that there is.
enum class IfDecided { again, keep };

// Submits and works the job here and now; an unfinished one goes on, a finished one is run afresh.
// Writes the journal entry unless --no-journal. Who runs several passes the weights from one to the
// next; a sweep's confirmation keeps what was tried before it. Throws Error when the job could not
// be finished.
Record run_here(const Spec& spec, const Arguments& arguments,
                std::shared_ptr<PreparedWeights> weights = nullptr,
                const SweepReport* sweep = nullptr, IfDecided decided = IfDecided::again);

// What this host decided about the very same file with the programs and the model that it would run
// now; nothing when it has yet to measure.
std::optional<Record> decided_here(const Spec& spec, const Arguments& arguments);

// "  Δ +1.20 % [+0.40, +2.10]" for a line of progress; empty while nothing can be said.
std::string effect_so_far(const std::optional<double>& effect, const Interval& interval);

// Why a run ended without a verdict, what is kept and how to go on.
std::string not_finished(const Record& record, const Worked& worked);

// Raised by SIGINT and SIGTERM: the running pair is dropped, committed pairs are kept.
StopSignal& interrupt_signal();

}  // namespace steady
