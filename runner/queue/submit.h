// From an experiment to a job in the queue: seed, plan and coins are fixed here and stored before
// anything is measured.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runner/storage/store.h"

namespace steady {

struct SubmitOptions {
    bool fresh_rerun = false;
    int priority = 0;
    std::vector<std::string> need_tags;
};

// Draws a seed when the spec names none, draws every pair's coins, stores all of it. The same spec
// again is the same job, unless fresh_rerun.
Submitted submit_experiment(Store& store, const Spec& spec, const SubmitOptions& options = {});

}  // namespace steady
