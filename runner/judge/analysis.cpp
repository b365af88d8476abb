// Runs the gates in order: provenance, correctness, noise, then micro, block and model. The first
// failure ends the experiment; only the model level accepts.
#include "runner/judge/analysis.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "runner/judge/analysis_checks.h"
#include "runner/judge/analysis_gates.h"
#include "runner/judge/analysis_provenance.h"
#include "runner/judge/analysis_text.h"
#include "runner/plan/schedule.h"
#include "runner/statistics/statistics_ranks.h"

namespace steady {

namespace {

struct Ladder {
    const JudgeInput& input;
    const Spec& spec;
    std::vector<Measurement> plan;
    std::vector<MeasurementState> states;
    Analysis analysis;
    std::string detail;  // of the reason, for the sentence

    explicit Ladder(const JudgeInput& in)
        : input(in), spec(*in.spec), plan(plan_measurements(*in.spec)) {}

    void end(Verdict verdict, std::string reason, std::string why, std::string text) {
        analysis.verdict = verdict;
        analysis.reason = std::move(reason);
        analysis.why = std::move(why);
        detail = std::move(text);
        analysis.stop = true;
    }

    bool provenance();
    bool correctness();
    bool coins();
    bool machine();
    bool hopeless(const MeasurementState& state, double sigma) const;
    bool layout();
    bool level(MeasurementState& state);
    void ask_for_pair(const MeasurementState& state, PairKind kind);
    void model(MeasurementState& state);
    void accept(const MeasurementState& state);
    void unreached();
    void fill_numbers();
    void fill_gates();
    void fill_checks();
    void check_layout(const MeasurementState& state);
    void fill_prediction();
    void fill_dependence();
    void fill_clocks();
    const MeasurementState* shown_state() const;
    const MeasurementState* deciding_state() const;
    std::vector<double> aa_values(const MeasurementState& state) const;
};

// True when the ladder goes on.
bool Ladder::provenance() {
    auto objection = check_declared(spec);
    if (!objection && input.applied != nullptr) objection = check_provenance(spec, *input.applied);
    if (!objection && input.applied == nullptr && input.finished)
        objection = Objection{"applied_evidence_missing", "the program never said what it runs"};
    if (objection) end(Verdict::invalid, objection->reason, "provenance", objection->detail);
    return !objection;
}

bool Ladder::correctness() {
    const auto results = check_correctness(spec, input.correctness, input.correctness_failure);
    const bool broken = !input.correctness_failure.empty() ||
                        (input.correctness != nullptr && input.correctness->unusable);
    if (input.correctness != nullptr && !input.correctness->baseline_failed.empty()) {
        const std::string& how = input.correctness->baseline_failed;
        end(Verdict::invalid, "baseline_failed", "correctness",
            how.starts_with(kControlFailed) || how.starts_with(kNotTheArms)
                ? how
                : "the baseline gave no usable output: " + how);
        return false;
    }
    if (input.correctness != nullptr) {
        if (const auto objection = check_proofs(*input.correctness)) {
            analysis.gates = results;
            end(Verdict::invalid, objection->reason, "provenance", objection->detail);
            return false;
        }
    }
    std::string failed;
    bool open = false;
    for (const GateResult& result : results) {
        if (result.outcome == "fail" && (result.role != Role::advice || broken) && failed.empty())
            failed = result.detail;
        open |= result.outcome == "open";
    }
    analysis.gates = results;
    if (failed.empty() && broken) failed = "B gave no usable output: " + input.correctness_failure;
    if (!failed.empty()) {
        end(Verdict::reject, "wrong_output", "correctness", failed);
        return false;
    }
    // Where the coins fail nothing was compared, and they are the reason.
    if (open && input.finished && coin_audit(spec, *input.pairs, input.seed).status != "fail")
        end(Verdict::invalid, "nothing_measured", "correctness", "outputs were never compared");
    return !analysis.stop;
}

bool Ladder::coins() {
    const Check audit = coin_audit(spec, *input.pairs, input.seed);
    analysis.checks.push_back(audit);
    if (audit.status == "fail")
        end(Verdict::invalid, "undeclared_difference", "coin_audit", audit.detail);
    return !analysis.stop;
}

const MeasurementState* Ladder::deciding_state() const {
    for (const MeasurementState& state : states)
        if (spec.gates[static_cast<std::size_t>(state.measurement->owner)].role == Role::decides)
            return &state;
    return nullptr;
}

std::vector<double> Ladder::aa_values(const MeasurementState& state) const {
    std::vector<double> values = input.prior.history.aa_pairs;
    const Gate& owner = spec.gates[static_cast<std::size_t>(state.measurement->owner)];
    for (double d : state.aa.values(owner.metric)) values.push_back(d);
    return values;
}

// Pairs of another program are cheap and its effect may be far above its worth. It is refused only
// when pairs were measured and not even an effect two standard errors above the observed one could
// be found within the cap.
bool Ladder::hopeless(const MeasurementState& state, double sigma) const {
    constexpr std::size_t kFirstLook = 10;
    const std::vector<double>& d = state.d;
    if (d.empty()) return input.finished;
    if (d.size() < kFirstLook || state.decides != Settled::open || !state.wants_pairs())
        return false;
    const double observed = std::fabs(hodges_lehmann_estimate(d));
    const double farthest = observed + 2 * sigma / std::sqrt(static_cast<double>(d.size()));
    return farthest < mde95(sigma, spec.schedule.pairs_max);
}

// The refuse rule. A against A runs before anything else: history tells what this machine was,
// these pairs what it is now, and only both together may refuse. Otherwise one bad hour would
// refuse every question after it.
bool Ladder::machine() {
    const MeasurementState* state = deciding_state();
    const Gate* gate = deciding_gate(spec);
    if (state == nullptr || gate == nullptr) return true;
    if (state->aa.next_number < state->measurement->aa_pairs && !input.finished) {
        ask_for_pair(*state, PairKind::aa);
        return false;
    }
    const double size = matters(*gate);
    const auto noisy = [&](const std::vector<double>& pairs) {
        const auto sigma = aa_sigma(pairs);
        return sigma && too_noisy(*sigma, pairs.size(), size, spec.schedule.pairs_max);
    };
    const std::vector<double> values = aa_values(*state), now = state->aa.values(gate->metric);
    if (!noisy(values) || (aa_sigma(now) && !noisy(now))) return true;
    const auto sigma = aa_sigma(values);
    if (is_outside(spec) && !hopeless(*state, *sigma)) return true;
    end(Verdict::inconclusive, "machine_too_noisy", "refused",
        fmt::format("a pair's spread is {:.2f} % ({} A/A pairs), so {} pairs find {} at best; {} "
                    "needs {:.0f} pairs",
                    100 * *sigma, values.size(), spec.schedule.pairs_max,
                    percent(mde95(*sigma, spec.schedule.pairs_max)), percent(size),
                    pairs_needed(*sigma, size)));
    return false;
}

// A against the layout control, beside the pairs of A against itself. It can decide nothing.
bool Ladder::layout() {
    const MeasurementState* state = deciding_state();
    if (state == nullptr || input.finished ||
        state->control.next_number >= state->measurement->control_pairs)
        return true;
    ask_for_pair(*state, PairKind::control);
    return false;
}

// One measurement below or beside the deciding one. True when the ladder goes on.
bool Ladder::level(MeasurementState& state) {
    const bool decides = deciding_state() == &state;
    if (!state.unstable.empty())
        end(Verdict::reject, "unstable", "discordance", state.unstable);
    else if (decides && state.decides == Settled::fail)
        end(Verdict::reject, state.rule.sub, state.rule.why, "");
    else if (state.guard_failed)
        end(Verdict::reject, "guard_failed", "early_e", state.failed_guard);
    else if (state.nothing_measured)
        end(Verdict::invalid, "nothing_measured", "pairs", "no pair holds the metric of its gate");
    else if (!state.too_many_discarded.empty())
        end(Verdict::inconclusive, "machine_too_noisy", "discarded", state.too_many_discarded);
    else if (state.wants_pairs() && !input.finished)
        ask_for_pair(state, state.aa.next_number < state.measurement->aa_pairs ? PairKind::aa
                                                                               : PairKind::measure);
    else if (decides)
        model(state);
    return !analysis.stop && analysis.next_gate < 0;
}

void Ladder::ask_for_pair(const MeasurementState& state, PairKind kind) {
    const MeasuredPairs& pairs = kind == PairKind::aa        ? state.aa
                                 : kind == PairKind::control ? state.control
                                                             : state.measured;
    analysis.next_gate = state.measurement->owner;
    analysis.next_kind = kind;
    analysis.next_number = pairs.next_number;
    analysis.next_attempt = pairs.next_attempt;
}

// The deciding measurement wants no more pairs, or can have none.
void Ladder::model(MeasurementState& state) {
    if (state.d.empty()) return;  // the model level was not reached
    const std::string why = state.exhausted || state.decides != Settled::open
                                ? state.rule.why
                                : std::string("stopped_early");
    if (state.decides != Settled::pass)
        end(Verdict::inconclusive, "", why, "");
    else if (std::any_of(states.begin(), states.end(), [&](const MeasurementState& one) {
                 // Guards of other cells are measurements of their own beside this one.
                 return one.guards_open && one.measurement->level == state.measurement->level;
             }))
        end(Verdict::inconclusive, "", "guard_open",
            "the gain is shown, but a guard could not be settled");
    else
        accept(state);
}

// Accepted by the pairs; the A/A band may still take it back.
void Ladder::accept(const MeasurementState& state) {
    const std::vector<double> values = aa_values(state);
    const Bounds band = bounds_of(values, state.sigma0);
    const double hl = hodges_lehmann_estimate(state.d);
    const bool calibrated = values.size() >= 20 && band.low && band.high;
    const bool inside = calibrated && hl >= *band.low && hl <= *band.high;
    if (!state.equivalent && inside)
        return end(Verdict::inconclusive, "machine_too_noisy", "aa_band",
                   fmt::format("the effect {} lies inside the A/A band {}", percent(std::expm1(hl)),
                               interval_text(as_fractions(band))));
    if (spec.aa_max_half_width) {
        const bool narrow =
            band.low && band.high && (*band.high - *band.low) / 2 <= *spec.aa_max_half_width;
        if (!narrow)
            return end(Verdict::inconclusive, "machine_too_noisy", "aa_band",
                       fmt::format("the A/A band {} over {} pairs is wider than the file allows",
                                   interval_text(as_fractions(band)), values.size()));
    }
    end(Verdict::accept, state.equivalent ? "shown_equivalent" : "", state.rule.why, "");
}

// All measurements are through and nothing decided.
void Ladder::unreached() {
    const bool any = std::any_of(states.begin(), states.end(), [](const MeasurementState& state) {
        return !state.measured.valid.empty();
    });
    if (!any && !plan.empty())
        return end(Verdict::invalid, "nothing_measured", "pairs", "no pair was measured");
    end(Verdict::inconclusive, "micro_only", "ladder",
        deciding_gate(spec) == nullptr ? "the file has no gate that decides"
        : is_outside(spec)             ? "its measurement was not reached"
                                       : "the full model was not measured");
}

void Ladder::fill_numbers() {
    const MeasurementState* state = deciding_state();
    if (state == nullptr) return;
    const Gate& gate = spec.gates[static_cast<std::size_t>(state->measurement->owner)];
    analysis.metric = gate.metric;
    analysis.d = state->d;
    analysis.pairs = static_cast<int>(state->d.size());
    analysis.discarded = state->measured.n_discarded;
    analysis.sigma0 = state->sigma0;
    const std::vector<double> scales = bet_scales(state->d, state->sigma0);
    if (!state->d.empty()) {
        analysis.effect = std::expm1(hodges_lehmann_estimate(state->d));
        analysis.interval = as_fractions(bounds_of(state->d, state->sigma0));
        if (state->d.size() > 1) analysis.sigma_d = kMadToSigma * mad(state->d);
    }
    for (const Bounds& bounds : confidence_sequence(state->d, scales, 0.05, {}, kFarthestEffect))
        analysis.narrowing.push_back(as_fractions(bounds));
    analysis.log_e_over_pairs = log_e_path(state->d, scales, gate.floor, Side::at_most);
    for (double& value : analysis.log_e_over_pairs) value += input.prior.log_e_accept;
    const std::vector<double> values = aa_values(*state);
    if (!values.empty()) analysis.aa_band = as_fractions(bounds_of(values, state->sigma0));
}

// Results in the order of the file; what the ladder never reached is "skipped".
void Ladder::fill_gates() {
    std::vector<GateResult> ordered;
    for (std::size_t i = 0; i < spec.gates.size(); ++i) {
        const Gate& gate = spec.gates[i];
        GateResult result;
        result.id = gate.id;
        result.metric = gate.metric;
        result.level = gate.level;
        result.role = gate.role;
        result.outcome = analysis.stop ? "skipped" : "open";
        for (const GateResult& one : analysis.gates)
            if (one.id == gate.id && gate.level == Level::correctness) result = one;
        for (const MeasurementState& state : states)
            for (std::size_t k = 0; k < state.gates.size(); ++k)
                if (state.measurement->gates[k] == static_cast<int>(i) &&
                    (state.gates[k].pairs > 0 || !analysis.stop))
                    result = state.gates[k];
        ordered.push_back(std::move(result));
    }
    analysis.gates = std::move(ordered);
}

void Ladder::fill_checks() {
    const MeasurementState* state = deciding_state();
    if (state == nullptr) return;
    const std::string& metric = analysis.metric;
    analysis.checks.push_back(carry_over(state->measured, metric, spec.schedule));
    analysis.checks.push_back(order_effect(state->measured, metric, spec.schedule));
    analysis.checks.push_back(pair_drift(state->d));
    if (input.prior.rule.value_or(kFirstRule) < kGroupsBySpeedRule) {
        analysis.checks.push_back(bimodality(state->d, state->sigma0));
    } else {
        const Gate& gate = *deciding_gate(spec);
        analysis.checks.push_back(bimodality_by_speed(state->d, state->measured.slowness(metric),
                                                      state->sigma0, matters(gate)));
    }
    analysis.checks.push_back(outliers(state->d));
    if (is_outside(spec))
        if (auto check = zeros(state->measured, metric)) analysis.checks.push_back(*check);
    const std::size_t n = aa_values(*state).size();
    const bool bounded = analysis.aa_band.low && analysis.aa_band.high;
    Check band{"aa_band", n >= 20 && bounded ? "ok" : "not_measured",
               fmt::format("{} over {} A/A pairs{}", interval_text(analysis.aa_band), n,
                           n >= 20 ? "" : "; fewer than 20, so it cannot take an accept back")};
    if (analysis.why == "aa_band") band.status = "flag";
    analysis.checks.push_back(band);
    if (has_layout_control(spec)) check_layout(*state);
}

// Does the layout alone change the metric? A flag does not take a verdict back.
void Ladder::check_layout(const MeasurementState& state) {
    const LayoutEffect control = layout_effect(spec, *input.pairs, state.sigma0);
    const Interval& range = control.interval;
    const bool shown = (range.low && *range.low > 0) || (range.high && *range.high < 0);
    analysis.checks.push_back(
        {"layout_control",
         control.pairs == 0 ? "not_measured"
         : shown            ? "flag"
                            : "ok",
         "B0 against A: " + effect_text(control.effect, range, control.pairs) +
             (shown ? "; the layout alone changes the metric" : "")});
}

// Whose pairs an entry shows: the deciding measurement, else the last that has any.
const MeasurementState* Ladder::shown_state() const {
    const MeasurementState* shown = deciding_state();
    for (const MeasurementState& state : states) {
        if (shown != nullptr && !shown->measured.all.empty()) break;
        if (!state.measured.all.empty()) shown = &state;
    }
    return shown;
}

// Records from before clocks were read hold none, and their analysis stays as it was.
void Ladder::fill_clocks() {
    const Gate* gate = deciding_gate(spec);
    const MeasurementState* shown = shown_state();
    if (gate == nullptr || shown == nullptr) return;
    std::vector<const Pair*> pairs;
    for (const MeasuredPairs::One* one : shown->measured.valid) pairs.push_back(one->pair);
    analysis.clocks = clock_report(spec, pairs, matters(*gate));
    if (!analysis.clocks) return;
    const bool calm = caution_words(*analysis.clocks).empty();
    analysis.checks.push_back({"gpu_clocks", calm ? "ok" : "flag", clock_words(*analysis.clocks)});
}

void Ladder::fill_dependence() {
    const Gate* gate = deciding_gate(spec);
    if (gate == nullptr || !analysis.stop || is_outside(spec)) return;
    const MeasurementState* shown = shown_state();
    Dependence& out = analysis.dependence.emplace();
    if (shown == nullptr) return;
    const std::string& metric =
        spec.gates[static_cast<std::size_t>(shown->measurement->owner)].metric;
    out.machine_state = machine_state(shown->d, shown->measured.slowness(metric), matters(*gate));
    std::vector<double> d, placement;
    for (const MeasuredPairs::One* one : shown->measured.valid) {
        const auto value = shown->measured.value_of(*one, metric);
        const auto where = placement_of(*one->pair);
        if (!value || !where) continue;
        d.push_back(*value);
        placement.push_back(*where);
    }
    out.placements = placement_spread(d, placement, matters(*gate));
}

void Ladder::fill_prediction() {
    if (!spec.hypothesis.predict) return;
    const bool answered =
        analysis.effect &&
        (analysis.verdict == Verdict::accept ||
         (analysis.verdict == Verdict::reject && analysis.reason != "wrong_output"));
    if (!answered || !analysis.stop) {
        analysis.prediction = "no_answer";
        return;
    }
    const double effect = *analysis.effect;  // a fraction, as the prediction
    analysis.prediction = effect < spec.hypothesis.predict->low    ? "below"
                          : effect > spec.hypothesis.predict->high ? "above"
                                                                   : "inside";
}

}  // namespace

Analysis judge(const JudgeInput& input) {
    Ladder ladder(input);
    for (const Measurement& one : ladder.plan) ladder.states.push_back(evaluate(input, one));
    const bool awaiting =
        !input.finished && (input.applied == nullptr ||
                            (input.correctness == nullptr && input.correctness_failure.empty()));
    bool going = ladder.provenance() && ladder.correctness() && ladder.coins();
    if (going && !awaiting) {
        going = ladder.machine() && ladder.layout();
        for (MeasurementState& state : ladder.states) {
            if (!going) break;
            going = ladder.level(state);
        }
        if (going && !ladder.analysis.stop) ladder.unreached();
    }
    ladder.fill_numbers();
    ladder.fill_gates();
    ladder.fill_checks();
    ladder.fill_clocks();
    ladder.fill_prediction();
    ladder.fill_dependence();
    Analysis& analysis = ladder.analysis;
    analysis.contradiction = level_contradiction(*input.spec, analysis);
    analysis.sentence =
        analysis.stop ? verdict_sentence(*input.spec, analysis, ladder.detail) : "Still measuring.";
    return analysis;
}

std::optional<Pair> next_pair(const JudgeInput& input, const Analysis& analysis) {
    if (analysis.stop || analysis.next_gate < 0) return std::nullopt;
    const Spec& spec = *input.spec;
    return draw_pair(spec, coins_per_pair(spec), input.seed, analysis.next_gate, analysis.next_kind,
                     analysis.next_number, analysis.next_attempt);
}

LayoutEffect layout_effect(const Spec& spec, const std::vector<Pair>& pairs, double sigma0) {
    LayoutEffect out;
    const Gate* gate = deciding_gate(spec);
    if (gate == nullptr) return out;
    const std::vector<double> d =
        pair_values(spec, pairs, static_cast<int>(gate - spec.gates.data()), PairKind::control);
    out.pairs = static_cast<int>(d.size());
    if (d.empty()) return out;
    out.effect = std::expm1(hodges_lehmann_estimate(d));
    out.interval = as_fractions(bounds_of(d, sigma0));
    return out;
}

std::vector<double> pair_values(const Spec& spec, const std::vector<Pair>& pairs, int gate,
                                PairKind kind) {
    const std::vector<Measurement> all = plan_measurements(spec);
    const Measurement* one = measurement_of(all, gate);
    if (one == nullptr) return {};
    return collect_pairs(spec, pairs, *one, kind)
        .values(spec.gates[static_cast<std::size_t>(gate)].metric);
}

}  // namespace steady
