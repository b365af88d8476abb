// From samples to a verdict. Pure: the same samples, seed and host history always give the same
// Analysis. Methods and constants: runner/statistics/README.md.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runner/judge/gpu_clocks.h"
#include "runner/judge/machine_state.h"
#include "runner/judge/placement.h"
#include "runner/judge/program_report.h"
#include "runner/plan/host_history.h"
#include "runner/plan/sample.h"
#include "runner/spec/spec.h"

namespace steady {

enum class Verdict { accept, reject, inconclusive, invalid };

// 0, 10, 11, 12
int exit_code(Verdict verdict);
const char* name(Verdict verdict);

struct Interval {
    std::optional<double> low, high;  // fractions (0.01 = +1 %); absent = unbounded
};

struct GateResult {
    std::string id, metric;
    Level level = Level::model;
    Role role = Role::advice;
    // pass, fail, open (undecided), advice (shown only), skipped (an earlier gate stopped)
    std::string outcome;
    std::string detail;            // one sentence with the numbers, for people
    std::optional<double> effect;  // fraction, + is better
    Interval interval;
    int pairs = 0;
    double log_e_accept = 0, log_e_reject = 0, log_e_regression = 0;
};

struct Check {  // assumption checks of each record
    // coin_audit, carry_over, order_effect, drift, bimodality, outliers, aa_band, gpu_clocks
    std::string name;
    std::string status;  // ok, flag, fail, not_measured
    std::string detail;
};

// On what the effect depends besides the change, as far as its pairs can tell. Nothing for other
// programs, whose pages read their pairs anyway.
struct Dependence {
    std::optional<MachineState> machine_state;
    std::optional<PlacementSpread> placements;
};

struct Analysis {
    Verdict verdict = Verdict::inconclusive;
    std::string reason;    // e.g. regression, no_worthwhile_gain, wrong_output; may be empty
    std::string sentence;  // the verdict in one sentence
    std::string metric;    // of the deciding gate
    std::optional<double> effect;  // Hodges–Lehmann, fraction, + is faster
    Interval interval;             // 95 % confidence sequence
    int pairs = 0;                 // valid pairs that decided
    int discarded = 0;
    std::string why;  // early_e, cap, final …
    std::vector<GateResult> gates;
    std::vector<Check> checks;
    Interval aa_band;
    double sigma_d = 0;               // robust sd of the pair values
    double sigma0 = 0;                // what the host's A/A history gave, used by the e-process
    std::string prediction;           // inside, above, below, no_answer, or empty
    std::vector<double> d;            // pair values of the deciding metric, log ratios, in order
    std::vector<Interval> narrowing;  // interval after each pair
    std::vector<double> log_e_over_pairs;  // log E(accept) after each pair
    std::optional<Dependence> dependence;  // none: stored before it was part of an analysis
    std::optional<ClockReport> clocks;     // of the GPU; none: its pairs hold none
    std::string contradiction;  // when levels disagree, e.g. "micro +42.0 %, model −6.7 %"

    // What the runner may do next. stop: the verdict is final. Otherwise measure next_pair's
    // measurement once more (see next_pair); -1 while provenance or correctness is awaited.
    bool stop = false;
    int next_gate = -1;
    PairKind next_kind = PairKind::measure;
    int next_number = 0, next_attempt = 0;
};

// Judges everything measured so far. `finished`: no more pairs will come (cap reached), so an
// undecided outcome becomes final. Provenance and correctness evidence may be absent.
struct JudgeInput {
    const Spec* spec = nullptr;
    const std::vector<Pair>* pairs = nullptr;
    const ProgramReport* applied = nullptr;
    const OutputsReport* correctness = nullptr;
    std::string correctness_failure;
    Prior prior;
    std::uint64_t seed = 0;
    bool finished = false;
};

Analysis judge(const JudgeInput& input);

// The next pair to measure, with its coins drawn, or nothing when the verdict is final or still
// waits for evidence. A pair that cannot be used is tried at most three times.
std::optional<Pair> next_pair(const JudgeInput& input, const Analysis& analysis);

// What the layout control shows: B0 against A in the metric of the deciding gate.
struct LayoutEffect {
    std::optional<double> effect;  // fraction, + is better
    Interval interval;
    int pairs = 0;
};
// sigma0: of the analysis.
LayoutEffect layout_effect(const Spec& spec, const std::vector<Pair>& pairs, double sigma0);

// Pair values of a gate's metric so far, log ratios in order of measurement, discarded pairs left
// out: what joins the host's history (kind aa) and what is judged (kind measure).
std::vector<double> pair_values(const Spec& spec, const std::vector<Pair>& pairs, int gate,
                                PairKind kind);

}  // namespace steady
