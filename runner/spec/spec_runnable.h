// Whether this version can run what a valid file asks for: one answer for validate, run, submit and
// worker, so that nothing is queued that would then be refused.
#pragma once

#include <string>
#include <vector>

#include "runner/spec/spec.h"

namespace steady {

enum class RunPlace {
    here,   // by the person who asks: run, ab, rerun
    queue,  // by a worker that takes it; there programs of others run confined
};

// One problem for each part of the file that cannot be run, placed and said like any other mistake;
// empty: it can be run.
std::vector<SpecError> not_runnable(const Spec& spec, RunPlace place);

// The first of them as one sentence; empty: it can be run.
std::string why_not_runnable(const Spec& spec, RunPlace place);

}  // namespace steady
