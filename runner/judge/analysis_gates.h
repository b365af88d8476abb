// One measurement and its gates: pair values, evidence, and whether more pairs are wanted. Used by
// judge(); kept apart because it knows nothing of the ladder between levels.
#pragma once

#include <string>
#include <vector>

#include "runner/judge/analysis.h"
#include "runner/judge/analysis_pairs.h"
#include "runner/statistics/stopping_rule.h"

namespace steady {

enum class Settled { open, pass, fail };

struct MeasurementState {
    const Measurement* measurement = nullptr;
    MeasuredPairs aa, control, measured;
    std::vector<GateResult> gates;  // in the order of Measurement::gates
    std::vector<double> d;          // pair values of the owner's metric
    double sigma0 = 0;              // of the owner's metric
    bool exhausted = false;         // every planned pair has been measured or given up
    bool guards_open = false, guard_failed = false;
    bool cell_without_interval = false;  // a guard of a matrix cell passed before its bounds stand
    std::string failed_guard;            // id and numbers
    std::string unstable;                // discordance rule: the sentence, empty when it holds
    std::string too_many_discarded;
    bool nothing_measured = false;  // pairs were run, but none holds the metric

    // Decides gate only.
    Settled decides = Settled::open;
    bool equivalent = false;
    RuleOutcome rule;

    // More pairs of this measurement are wanted.
    bool wants_pairs() const;
};

MeasurementState evaluate(const JudgeInput& input, const Measurement& measurement);

// Effects are searched up to a factor of e^8: a candidate may be many times faster.
constexpr double kFarthestEffect = 8;

// The 95 % confidence sequence of pair values, log effects; see confidence_bounds.
Bounds bounds_of(Values d, double sigma0);

// Bounds of a log effect as fractions.
Interval as_fractions(const Bounds& bounds);

// What the e-process assumes as the spread of a metric before the first pair: the geometric mean of
// the host's history (deciding metric only) and this experiment's own A/A pairs, or the one that
// there is; without either, the size asked for.
// Fixed before the first measured pair, as validity demands.
double starting_sigma(const JudgeInput& input, const MeasuredPairs& aa, const Gate& gate);

}  // namespace steady
