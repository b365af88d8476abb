// Groups gates into measurements, computes the declared difference and the power of the plan.
#include "runner/plan/plan.h"

#include <fmt/core.h>

#include <algorithm>
#include <tuple>

#include "runner/statistics/statistics.h"
#include "runner/statistics/stopping_rule.h"

namespace steady {

namespace {

// What is shown and never tested, advice and layout control: enough pairs for an interval.
constexpr int kAdvicePairs = 10;
constexpr std::size_t kCalibratedPairs = 20, kFewestPairs = 5;

std::string scope_of(const Gate& gate) {
    if (gate.level == Level::micro) return "micro";
    if (gate.level == Level::model) return "model";
    return gate.metric.rfind("ffn", 0) == 0 ? "ffn" : "block";
}

bool needs_pairs(const Gate& gate) { return gate.level != Level::correctness; }

}  // namespace

bool path_covers(const std::string& declared, const std::string& path) {
    if (declared == path) return true;
    std::string parent = declared;
    if (parent.size() > 2 && parent.compare(parent.size() - 2, 2, ".*") == 0)
        parent.resize(parent.size() - 2);
    return path.size() > parent.size() && path.compare(0, parent.size(), parent) == 0 &&
           path[parent.size()] == '.';
}

std::vector<Measurement> plan_measurements(const Spec& spec) {
    using Key = std::tuple<Level, std::string, std::string, std::map<std::string, std::string>,
                           std::vector<std::string>, std::string, std::string>;
    std::vector<Key> keys;
    std::vector<Measurement> all;
    for (std::size_t i = 0; i < spec.gates.size(); ++i) {
        const Gate& gate = spec.gates[i];
        if (!needs_pairs(gate)) continue;
        const Key key{gate.level, scope_of(gate), gate.op,    gate.at,
                      gate.run,   gate.adapter,   gate.select};
        const auto found = std::find(keys.begin(), keys.end(), key);
        const auto index = static_cast<std::size_t>(found - keys.begin());
        if (found == keys.end()) {
            keys.push_back(key);
            all.push_back(
                {static_cast<int>(i), gate.level, scope_of(gate), gate.op, {}, 0, 0, 0, true});
        }
        Measurement& one = all[index];
        one.gates.push_back(static_cast<int>(i));
        one.advice_only &= gate.role == Role::advice;
        if (gate.role == Role::decides) one.owner = static_cast<int>(i);
    }
    for (Measurement& one : all) {
        one.aa_pairs = spec.schedule.aa_pairs;
        one.pairs_max = one.advice_only ? std::min(kAdvicePairs, spec.schedule.pairs_max)
                                        : spec.schedule.pairs_max;
    }
    const Gate* decider = deciding_gate(spec);
    for (Measurement& one : all) {
        if (decider == nullptr || !has_layout_control(spec)) break;
        if (&spec.gates[static_cast<std::size_t>(one.owner)] != decider) continue;
        one.control_pairs = std::min(kAdvicePairs, spec.schedule.pairs_max);
    }
    // The one that decides comes last of its level: it accepts only when every guard has passed.
    const auto decides = [&](const Measurement& one) {
        return spec.gates[static_cast<std::size_t>(one.owner)].role == Role::decides;
    };
    std::stable_sort(all.begin(), all.end(), [&](const Measurement& x, const Measurement& y) {
        return std::pair(x.level, decides(x)) < std::pair(y.level, decides(y));
    });
    return all;
}

int coins_per_pair(const Spec& spec) {
    if (spec.schedule.mode == Mode::process_pairs) return 1;
    if (spec.schedule.mode == Mode::lockstep) return spec.schedule.inner;
    const int tokens = spec.schedule.warmup_tokens + spec.schedule.tokens;
    return std::max(1, tokens / std::max(1, spec.schedule.chunk));
}

const Measurement* measurement_of(const std::vector<Measurement>& all, int gate) {
    for (const Measurement& one : all)
        if (std::find(one.gates.begin(), one.gates.end(), gate) != one.gates.end()) return &one;
    return nullptr;
}

std::optional<double> aa_sigma(const std::vector<double>& aa_pairs) {
    if (aa_pairs.size() < kFewestPairs) return std::nullopt;
    return kMadToSigma * mad(aa_pairs);
}

bool too_noisy(double sigma_d, std::size_t n_history, double worth, int n_max) {
    const double slack = n_history >= kCalibratedPairs ? 1 : 2;
    return mde95(sigma_d, n_max) > slack * worth;
}

namespace {

void describe_power(Plan& plan, const Spec& spec, const HostHistory& history) {
    const Gate* gate = deciding_gate(spec);
    plan.n_history = history.aa_pairs.size();
    plan.sigma_d = aa_sigma(history.aa_pairs);
    if (!plan.sigma_d) plan.sigma_d = history.sigma0;
    if (gate == nullptr) {
        plan.detectable = "no gate decides: the best outcome is inconclusive / micro_only";
        return;
    }
    if (!plan.sigma_d) {
        plan.detectable = fmt::format(
            "this host has {} A/A pairs for {}, too few to say what it can detect; run `steady aa`",
            plan.n_history, gate->metric);
        return;
    }
    const double size = matters(*gate);
    plan.mde95 = mde95(*plan.sigma_d, spec.schedule.pairs_max);
    plan.pairs_needed = std::max(10.0, pairs_needed(*plan.sigma_d, size));
    const std::size_t n = history.aa_pairs.empty() ? kCalibratedPairs : plan.n_history;
    plan.refuse = too_noisy(*plan.sigma_d, n, size, spec.schedule.pairs_max);
    plan.detectable = fmt::format(
        "with {} pairs this host finds {:+.2f} % with 95 % power (spread of a pair {:.2f} %); "
        "{:+.2f} % needs {:.0f} pairs{}",
        spec.schedule.pairs_max, 100 * *plan.mde95, 100 * *plan.sigma_d, 100 * size,
        plan.pairs_needed,
        !plan.refuse       ? ""
        : is_outside(spec) ? ": it stays undecided unless the effect is larger"
                           : ": refused, the machine is too noisy");
}

std::string describe_attempts(const Spec& spec, int earlier) {
    const Gate* gate = deciding_gate(spec);
    if (gate == nullptr) return "";
    if (earlier == 0)
        return fmt::format("first attempt at this question: false accepts at most {:.2g} %",
                           100 * gate->alpha);
    return fmt::format(
        "attempt {} at this question: its evidence is multiplied with the earlier ones' and there "
        "is no final look, so that all attempts together keep false accepts at most {:.2g} %",
        earlier + 1, 100 * gate->alpha);
}

}  // namespace

Plan make_plan(const Spec& spec, const HostHistory& history, int earlier_attempts) {
    Plan plan;
    plan.difference = arms_difference(spec);
    const auto covered = [&](const std::string& path) {
        return std::any_of(
            spec.expect_diff.begin(), spec.expect_diff.end(),
            [&](const std::string& declared) { return path_covers(declared, path); });
    };
    for (const std::string& path : plan.difference)
        if (!covered(path)) plan.undeclared.push_back(path);
    for (const std::string& declared : spec.expect_diff)
        if (std::none_of(plan.difference.begin(), plan.difference.end(),
                         [&](const std::string& path) { return path_covers(declared, path); }))
            plan.missing.push_back(declared);
    plan.measurements = plan_measurements(spec);
    plan.coins_per_pair = coins_per_pair(spec);
    for (const Gate& gate : spec.gates)
        if (gate.role == Role::guard && (gate.level == Level::micro || gate.level == Level::block))
            plan.guard_beta_sum += gate.beta;
    describe_power(plan, spec, history);
    plan.attempts = describe_attempts(spec, earlier_attempts);
    return plan;
}

}  // namespace steady
