// Queues an experiment: seed, plan and random order are fixed here and stored before anything is
// measured.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "runner/storage/store.h"

namespace steady {

struct SubmitOptions {
    bool fresh_rerun = false;
    int priority = 0;
    std::vector<std::string> need_tags;
    std::map<std::string, std::string> commits{};  // see Submission
    bool for_caller = false;
    bool commands = false;  // an outside program that no worker need know; see kCommandsTag
};

// Tags that decide who may run programs of others: only a worker advertises them, from its own
// settings. A job of an outside program needs one of them.
inline constexpr std::string_view kProgramTag = "program:";   // and the registered program's name
inline constexpr std::string_view kCommandsTag = "commands";  // any command, confined
inline constexpr std::string_view kCallerTag = "caller";      // advertised by nobody: `run`, `ab`
// True for tags that people may not give to a worker or a job.
bool is_reserved_tag(std::string_view tag);

// Throws Error for a sweep: it is several experiments, and no job.
void refuse_sweep(const Spec& spec);

// The one way into the queue, for the command line, the page and the worker. Draws a seed when the
// spec names none, draws every pair's coins, stores all of it. The same spec again is the same job,
// unless fresh_rerun; that draws a seed of its own, since a fresh run must not toss the same coins
// again.
Submitted submit_experiment(Store& store, const Spec& spec, const SubmitOptions& options = {});

}  // namespace steady
