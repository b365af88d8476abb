// One experiment, from its plan to its analysis. Levels run in order, every pair is stored before
// the next one starts, and the judge is called after each. All effects are behind Executor and
// SampleSink.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "runner/judge/analysis.h"
#include "runner/plan/plan.h"
#include "runner/record/record.h"
#include "runner/run/executor.h"

namespace steady {

struct Experiment {
    const Spec* spec = nullptr;
    std::uint64_t seed = 0;
    std::vector<Pair> pairs;  // sealed before (resume); new ones are appended as they come
    Evidence evidence;        // likewise; prior must be there
    Executor* executor = nullptr;
    SampleSink* sink = nullptr;
    // After each pair: what the judge says now. For progress lines; between timed regions.
    std::function<void(const Analysis&, const Pair&)> progress;
    std::function<bool()> cancelled;  // asked between pairs
};

enum class Ended { decided, cancelled };

struct ExperimentResult {
    Ended ended = Ended::decided;
    Analysis analysis;
};

// Runs what is still missing and judges. Throws Error only when the world is broken (no engine, no
// database); a candidate that crashes or answers wrongly is a verdict.
ExperimentResult run_experiment(Experiment& experiment);

}  // namespace steady
