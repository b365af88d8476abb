// An experiment as a job: what `run`, `rerun`, `worker`, `aa`, `selftest` and `demo` share. Every
// measurement goes through the queue, so that no two of them ever meet on one machine.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "runner/cli/command_line.h"
#include "runner/edges/prepared_weights.h"
#include "runner/pipeline/record.h"
#include "runner/queue/worker.h"

namespace steady {

// The experiment function of the queue: prepares engine, model and workload, runs the ladder,
// returns the verdict. Progress goes to stderr unless --quiet. The weights stay for the next job.
JobResult run_job(Job& job, const Arguments& arguments,
                  const std::shared_ptr<PreparedWeights>& weights);

struct SubmitOptions {
    bool fresh_rerun = false;
    int priority = 0;
    std::vector<std::string> need_tags;
};

// Draws the seed and the whole order, stores both with the spec.
Submitted submit_spec(Store& store, const Spec& spec, const SubmitOptions& options = {});

// Submits and works the job here and now; an unfinished one goes on, a finished one is run afresh.
// Writes the journal entry unless --no-journal. Who runs several passes the weights from one to the
// next. Throws Error when the job could not be finished.
Record run_here(const Spec& spec, const Arguments& arguments,
                std::shared_ptr<PreparedWeights> weights = nullptr);

// "  Δ +1.20 % [+0.40, +2.10]" for a line of progress; empty while nothing can be said.
std::string effect_so_far(const std::optional<double>& effect, const Interval& interval);

// Raised by SIGINT and SIGTERM: the running pair is dropped, everything sealed is kept.
StopSignal& interrupt_signal();

}  // namespace steady
