// The loop of an experiment: verify what runs, check correctness, then measure pairs until the
// judge has enough.
#include "runner/run/experiment.h"

#include <fmt/format.h>

#include <utility>

#include "runner/judge/analysis_pairs.h"
#include "runner/plan/schedule.h"

namespace steady {
namespace {

JudgeInput judge_input(const Experiment& experiment) {
    JudgeInput input;
    input.spec = experiment.spec;
    input.pairs = &experiment.pairs;
    input.applied = experiment.evidence.applied ? &*experiment.evidence.applied : nullptr;
    input.correctness =
        experiment.evidence.correctness ? &*experiment.evidence.correctness : nullptr;
    input.correctness_failure = experiment.evidence.correctness_failure;
    if (experiment.evidence.prior) input.prior = *experiment.evidence.prior;
    input.seed = experiment.seed;
    return input;
}

void prove_applied(Experiment& experiment) {
    if (experiment.evidence.applied) return;
    experiment.evidence.applied = experiment.executor->open();
    experiment.sink->put_applied(*experiment.evidence.applied);
}

// A candidate that cannot even answer is wrong output, with the way it ended as the detail.
void check_correctness(Experiment& experiment) {
    Evidence& evidence = experiment.evidence;
    if (evidence.correctness || !evidence.correctness_failure.empty()) return;
    try {
        evidence.correctness = experiment.executor->correctness();
        experiment.sink->put_correctness(*evidence.correctness);
    } catch (const CandidateFailed& failure) {
        evidence.correctness_failure = failure.what();
        experiment.sink->put_correctness_failure(evidence.correctness_failure);
    }
}

MeasureRequest request_for(const Experiment& experiment, Pair pair) {
    const Spec& spec = *experiment.spec;
    const std::vector<Measurement> measurements = plan_measurements(spec);
    const Measurement* measurement = measurement_of(measurements, pair.gate);
    MeasureRequest request;
    request.gate = pair.gate;
    request.scope = measurement->scope;
    request.op = measurement->op;
    request.chunk = spec.schedule.chunk;
    request.warmup_tokens = spec.schedule.warmup_tokens;
    request.tokens = spec.schedule.tokens;
    request.layout_seed = layout_seed_of(spec, experiment.seed, pair);
    request.pair = std::move(pair);
    return request;
}

// A pair whose arms never became steady cannot be used: the store then opens its next try. The rule
// looks at both arms alike; which arm was at fault is kept, since B alone at fault is evidence.
void mark_unusable(const Spec& spec, Pair& pair) {
    if (!pair.discarded.empty()) return;
    const std::string& metric = spec.gates[static_cast<std::size_t>(pair.gate)].metric;
    const PairQuality quality = assess_pair(pair, raw_metric(spec, metric), spec.schedule);
    if (quality.valid) return;
    pair.discarded = quality.reason.empty() ? "no steady state" : quality.reason;
    const bool prefixed = pair.discarded.starts_with("A: ") || pair.discarded.starts_with("B: ");
    if (quality.only_a && !prefixed) pair.discarded.insert(0, "A: ");
    if (quality.only_b && !prefixed) pair.discarded.insert(0, "B: ");
}

// Measures one pair and stores it; false when it was stopped meanwhile. A child that failed leaves
// a pair discarded with its reason.
bool measure(Experiment& experiment, Pair pair) {
    const MeasureRequest request = request_for(experiment, std::move(pair));
    Measured measured = experiment.executor->measure(request);
    if (measured.outcome == "cancelled") return false;
    if (measured.outcome != "ok") {
        measured.pair = request.pair;
        measured.pair.discarded = measured.detail.empty()
                                      ? measured.outcome
                                      : fmt::format("{}: {}", measured.outcome, measured.detail);
    }
    measured.pair.sealed = true;
    mark_unusable(*experiment.spec, measured.pair);
    experiment.sink->put_pair(measured.pair);
    experiment.pairs.push_back(std::move(measured.pair));
    return true;
}

// The model gate of the last pair that counts; nothing: none was measured.
std::optional<int> measured_model_gate(const Experiment& experiment) {
    for (auto pair = experiment.pairs.rbegin(); pair != experiment.pairs.rend(); ++pair) {
        if (pair->kind != PairKind::measure || !pair->sealed || !pair->discarded.empty()) continue;
        const auto gate = static_cast<std::size_t>(pair->gate);
        if (experiment.spec->gates[gate].level == Level::model) return pair->gate;
    }
    return std::nullopt;
}

// Where the time went, once both arms are known to run at level model.
void add_profile(Experiment& experiment) {
    if (experiment.evidence.profile || !measured_model_gate(experiment)) return;
    try {
        experiment.evidence.profile = experiment.executor->profile();
        if (experiment.evidence.profile) experiment.sink->put_profile(*experiment.evidence.profile);
    } catch (const CandidateFailed&) {
        // The verdict does not rest on the profile; the entry says that there is none.
    }
}

// The same by call stack, where the file asks for it. False when it was stopped meanwhile.
bool add_stacks(Experiment& experiment) {
    const auto gate = measured_model_gate(experiment);
    if (experiment.spec->schedule.profile.empty() || !gate) return true;
    const auto stacks = experiment.executor->stacks(*gate);
    if (stacks) experiment.sink->put_stacks(*stacks);
    return stacks.has_value();
}

}  // namespace

ExperimentResult run_experiment(Experiment& experiment) {
    ExperimentResult result;
    prove_applied(experiment);
    JudgeInput input = judge_input(experiment);
    result.analysis = judge(input);
    if (!result.analysis.stop) {
        check_correctness(experiment);
        input = judge_input(experiment);
        result.analysis = judge(input);
    }
    while (!result.analysis.stop) {
        std::optional<Pair> pair = next_pair(input, result.analysis);
        if (!pair) break;
        if ((experiment.cancelled && experiment.cancelled()) || !measure(experiment, *pair)) {
            result.ended = Ended::cancelled;
            return result;
        }
        input = judge_input(experiment);
        result.analysis = judge(input);
        if (experiment.progress) experiment.progress(result.analysis, experiment.pairs.back());
    }
    add_profile(experiment);
    if (!add_stacks(experiment)) {
        result.ended = Ended::cancelled;
        return result;
    }
    input = judge_input(experiment);
    input.finished = true;
    result.analysis = judge(input);
    return result;
}

}  // namespace steady
