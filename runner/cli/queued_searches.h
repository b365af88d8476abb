// Searches for a commit that the page asked for, run by a worker between its jobs.
#pragma once

#include <string>
#include <vector>

#include "runner/cli/command_line.h"
#include "runner/queue/worker.h"

namespace steady {

// Takes at most one search that this host may run (tags: as the worker advertises them) and runs
// it to its end: each comparison is a job of the queue, worked with `run`. A search that is
// interrupted goes on at the next call, here; one that cannot run ends with the reason. True: a
// search was taken.
bool run_queued_search(Worker& worker, const RunJob& run, const Arguments& arguments,
                       const std::vector<std::string>& tags);

}  // namespace steady
