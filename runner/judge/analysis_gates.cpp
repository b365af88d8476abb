// Evidence of one measurement. Everything is recomputed from all pairs each time: the outcome
// depends on the pairs alone, not on how often it was computed.
#include "runner/judge/analysis_gates.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "runner/judge/analysis_text.h"
#include "runner/statistics/statistics_ranks.h"

namespace steady {

namespace {

constexpr double kUnstableP = 0.01;
constexpr int kFewestTries = 10;  // before the share of discarded pairs means anything
constexpr double kSmallestSigma = 1e-5;

const Gate& gate_at(const Spec& spec, int index) {
    return spec.gates[static_cast<std::size_t>(index)];
}

RuleParams rule_params(const JudgeInput& input, const MeasurementState& state, const Gate& gate) {
    RuleParams params;
    params.rule = input.prior.rule.value_or(kFirstRule);
    params.n_planned = static_cast<std::size_t>(state.measurement->pairs_max);
    params.sigma0 = state.sigma0;
    params.alpha = gate.alpha;
    params.beta = gate.beta;
    params.theta0 = gate.floor;
    params.delta_w = gate.worth;
    params.n_max =
        state.exhausted ? state.d.size() : static_cast<std::size_t>(state.measurement->pairs_max);
    params.final_look = input.prior.attempts.empty();
    params.prior_log_e_accept = input.prior.log_e_accept;
    params.prior_log_e_reject = input.prior.log_e_reject;
    params.estimate = false;
    return params;
}

void judge_decides(const JudgeInput& input, MeasurementState& state, const Gate& gate,
                   GateResult& result) {
    if (gate.goal == Goal::equivalent) {
        const EquivalenceOutcome outcome =
            decide_equivalent(state.d, state.sigma0, gate.margin, gate.alpha);
        const GuardOutcome worse =
            decide_guard(state.d, state.sigma0, gate.margin, gate.alpha, gate.beta);
        state.equivalent = true;
        state.rule.n_pairs = outcome.n_pairs;
        state.rule.why = outcome.shown ? "early_e" : "need_more_pairs";
        result.log_e_accept = outcome.log_e_above;
        result.log_e_reject = worse.log_e_fail;
        if (outcome.shown) {
            state.decides = Settled::pass;
        } else if (worse.state == GuardState::fail) {
            state.decides = Settled::fail;
            state.rule.sub = "regression";
            state.rule.why = "early_e";
        } else if (state.exhausted) {
            state.rule.why = "cap";
        }
        return;
    }
    state.rule = decide_gain(state.d, rule_params(input, state, gate));
    result.log_e_accept = state.rule.log_e_accept;
    result.log_e_reject = state.rule.log_e_reject;
    result.log_e_regression = state.rule.log_e_regression;
    if (state.rule.decision == Decision::accept) state.decides = Settled::pass;
    if (state.rule.decision == Decision::reject) state.decides = Settled::fail;
}

void judge_guard(MeasurementState& state, const Gate& gate, const std::vector<double>& d,
                 double sigma0, GateResult& result) {
    const GuardOutcome outcome = decide_guard(d, sigma0, gate.margin, gate.alpha_guard, gate.beta);
    result.log_e_accept = outcome.log_e_pass;
    result.log_e_reject = outcome.log_e_fail;
    result.outcome = outcome.state == GuardState::pass   ? "pass"
                     : outcome.state == GuardState::fail ? "fail"
                                                         : "open";
    state.guards_open |= outcome.state == GuardState::open;
    // A cell is there to be seen, so it is measured until it has an interval; its verdict stands.
    state.cell_without_interval |= !gate.at.empty() && outcome.state == GuardState::pass &&
                                   !(result.interval.low && result.interval.high);
    if (outcome.state != GuardState::fail || state.guard_failed) return;
    state.guard_failed = true;
    state.failed_guard = fmt::format("{} ({}) {}, worse than {} is shown", gate.id, gate.metric,
                                     effect_text(result.effect, result.interval, result.pairs),
                                     percent(-gate.margin));
}

GateResult gate_result(const JudgeInput& input, MeasurementState& state, const Gate& gate) {
    GateResult result;
    result.id = gate.id;
    result.metric = gate.metric;
    result.level = gate.level;
    result.role = gate.role;
    const std::vector<double> d = state.measured.values(gate.metric);
    const double sigma0 = starting_sigma(input, state.aa, gate);
    result.pairs = static_cast<int>(d.size());
    if (!d.empty()) {
        result.effect = std::expm1(hodges_lehmann_estimate(d));
        result.interval = as_fractions(bounds_of(d, sigma0));
    }
    if (gate.role == Role::decides) {
        judge_decides(input, state, gate, result);
        result.outcome = state.decides == Settled::pass   ? "pass"
                         : state.decides == Settled::fail ? "fail"
                                                          : "open";
    } else if (gate.role == Role::guard) {
        judge_guard(state, gate, d, sigma0, result);
    } else {
        result.outcome = "advice";
    }
    result.detail = fmt::format("{} {}", gate.metric,
                                effect_text(result.effect, result.interval, result.pairs));
    return result;
}

bool is_crash(const std::string& reason) {
    for (const char* kind : {"crash", "signal", "oom", "timeout"})
        if (reason.rfind(kind, 0) == 0) return true;
    return false;
}

int count_crashes(const MeasuredPairs& pairs) {
    return static_cast<int>(
        std::count_if(pairs.all.begin(), pairs.all.end(),
                      [](const MeasuredPairs::One& one) { return is_crash(one.quality.reason); }));
}

// Pairs lost for reasons seen on one arm alone: a fair coin would split them evenly. A duet's
// crash takes both arms down; it is B's when the baseline beside itself never crashed.
std::string unstable_sentence(const MeasurementState& state) {
    const bool baseline_runs = state.aa.valid.size() >= 2 && count_crashes(state.aa) == 0;
    const int n_b = state.measured.n_only_b + (baseline_runs ? count_crashes(state.measured) : 0);
    const int n_a = state.measured.n_only_a;
    if (n_b <= n_a) return "";
    double p = 0, ways = 1;  // P(at least n_b of n heads)
    const int n = n_a + n_b;
    for (int k = n; k >= n_b; --k) {
        p += ways * std::pow(0.5, n);
        ways = ways * k / (n - k + 1);
    }
    if (p > kUnstableP) return "";
    return fmt::format("{} pairs were lost to B alone and {} to A alone (p {:.2g})", n_b, n_a, p);
}

void apply_discard_rules(const Spec& spec, MeasurementState& state, bool finished) {
    const MeasuredPairs& pairs = state.measured;
    const int n_tried = static_cast<int>(pairs.all.size());
    state.unstable = unstable_sentence(state);
    const bool enough = n_tried >= kFewestTries || state.exhausted || finished;
    if (n_tried == 0 || !enough) return;
    std::string last;
    bool never_there = true;
    for (const MeasuredPairs::One& one : pairs.all) {
        if (!one.quality.valid) last = one.quality.reason;
        never_there &= one.quality.reason.rfind("no ", 0) == 0;
    }
    // The last try counts in any noise, so noisy tries are no sign that none can be used.
    if (pairs.n_discarded - pairs.n_noisy >
        spec.environment.max_discarded * static_cast<double>(n_tried - pairs.n_noisy))
        state.too_many_discarded = fmt::format("{} of {} pairs could not be used (last: {})",
                                               pairs.n_discarded, n_tried, last);
    state.nothing_measured = pairs.valid.empty() && never_there;
}

}  // namespace

bool MeasurementState::wants_pairs() const {
    if (exhausted || guard_failed || !unstable.empty() || !too_many_discarded.empty()) return false;
    if (nothing_measured) return false;
    const bool has_decides = std::any_of(gates.begin(), gates.end(), [](const GateResult& gate) {
        return gate.role == Role::decides;
    });
    if (has_decides) return decides == Settled::open || (decides == Settled::pass && guards_open);
    return measurement->advice_only || guards_open || cell_without_interval;
}

Bounds bounds_of(Values d, double sigma0) {
    return confidence_bounds(d, bet_scales(d, sigma0), 0.05, {}, kFarthestEffect);
}

Interval as_fractions(const Bounds& bounds) {
    Interval interval;
    if (bounds.low) interval.low = std::expm1(*bounds.low);
    if (bounds.high) interval.high = std::expm1(*bounds.high);
    return interval;
}

double starting_sigma(const JudgeInput& input, const MeasuredPairs& aa, const Gate& gate) {
    const Gate* decides = deciding_gate(*input.spec);
    std::vector<double> values = aa.values(gate.metric);
    const auto now = aa_sigma(values);
    if (decides != nullptr && decides->metric == gate.metric && decides->level == gate.level) {
        const HostHistory& history = input.prior.history;
        if (history.sigma0 && *history.sigma0 > 0) {
            // What it was and what it is, half way on the log scale.
            const double before = *history.sigma0;
            return std::max(kSmallestSigma, now && *now > 0 ? std::sqrt(before * *now) : before);
        }
        values.insert(values.begin(), history.aa_pairs.begin(), history.aa_pairs.end());
    }
    const auto sigma = aa_sigma(values);
    if (sigma && *sigma > 0) return std::max(kSmallestSigma, *sigma);
    return gate.role == Role::decides && gate.goal == Goal::gain ? gate.worth : gate.margin;
}

MeasurementState evaluate(const JudgeInput& input, const Measurement& measurement) {
    const Spec& spec = *input.spec;
    MeasurementState state;
    state.measurement = &measurement;
    state.aa = collect_pairs(spec, *input.pairs, measurement, PairKind::aa);
    state.control = collect_pairs(spec, *input.pairs, measurement, PairKind::control);
    state.measured = collect_pairs(spec, *input.pairs, measurement, PairKind::measure);
    const Gate& owner = gate_at(spec, measurement.owner);
    state.d = state.measured.values(owner.metric);
    if (state.d.size() > static_cast<std::size_t>(measurement.pairs_max))
        state.d.resize(static_cast<std::size_t>(measurement.pairs_max));
    state.sigma0 = starting_sigma(input, state.aa, owner);
    state.exhausted = state.measured.next_number >= measurement.pairs_max;
    for (int index : measurement.gates)
        state.gates.push_back(gate_result(input, state, gate_at(spec, index)));
    if (!measurement.advice_only) apply_discard_rules(spec, state, input.finished);
    return state;
}

}  // namespace steady
