// Sequential decisions over pair values. Each function replays the whole sequence, so that the
// outcome depends on the values alone and not on when it was computed.
#include "runner/statistics/stopping_rule.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "kernels/base/error.h"
#include "runner/statistics/statistics_ranks.h"

namespace steady {

namespace {

double signed_rank_p(Values d, double theta, double sign) {
    std::vector<double> z;
    for (double value : d) z.push_back(sign * (value - theta));
    return wilcoxon_exact(z).p.p_greater;
}

// A look closer to the cap than this share of it would find what the cap finds.
constexpr double kLastInterim = 5.0 / 6;
constexpr std::size_t kFirstInterim = 30;
constexpr double kInterimShare = 0.45;
// Nine pairs that all favour B have p = 1/512, within a fifth of 1 %: what is plain costs nine
// pairs.
constexpr std::size_t kFirstLook = 9;

void look_at_cap(RuleOutcome& outcome, Values d, const RuleParams& params, double share) {
    outcome.why = "cap";
    if (!params.final_look) return;
    outcome.final_p_accept = signed_rank_p(d, params.theta0, 1);
    std::vector<double> shortfall;
    for (double value : d) shortfall.push_back(-(value - params.theta0 - params.delta_w));
    outcome.final_p_reject = wilcoxon_exact(shortfall).p.p_greater;
    if (*outcome.final_p_accept <= params.alpha * share)
        outcome.decision = Decision::accept;
    else if (*outcome.final_p_reject <= params.beta / 2)
        outcome.decision = Decision::reject;
    if (outcome.decision != Decision::inconclusive) outcome.why = "final";
}

// The first pair after which the evidence may decide.
std::size_t first_decision(const RuleParams& params) {
    const bool earlier = params.prior_log_e_accept != 0 || params.prior_log_e_reject != 0;
    return earlier && params.rule >= kOwnPairsRule ? std::min(kFirstLook, params.n_max) : 1;
}

bool accepts_at_look(Values d, const RuleParams& params, const Budget& budget) {
    if (!params.final_look) return false;  // as at the cap: a later attempt has no looks
    const auto look = std::find_if(budget.looks.begin(), budget.looks.end(),
                                   [&](const Look& one) { return one.n_pairs == d.size(); });
    if (look == budget.looks.end()) return false;
    return signed_rank_p(d, params.theta0, 1) <= params.alpha * look->share;
}

}  // namespace

Budget budget_of(int rule, std::size_t n_planned) {
    if (rule == kFirstRule) return {};
    if (rule < kFirstRule || rule > kLatestRule)
        throw Error(
            fmt::format("stopping rule {}: this version knows {} to {}; a record with "
                        "another rule needs a newer steady",
                        rule, kFirstRule, kLatestRule));
    Budget budget{0.15, 0.2, {{kFirstLook, 0.2}}};
    for (std::size_t n = kFirstInterim; real(n) <= kLastInterim * real(n_planned); n *= 2)
        budget.looks.push_back({n, 0});
    const std::size_t n_interim = budget.looks.size() - 1;
    if (n_interim == 0) budget.cap += kInterimShare;
    for (std::size_t i = 1; i <= n_interim; ++i)
        budget.looks[i].share = kInterimShare / real(n_interim);
    return budget;
}

RuleOutcome decide_gain(Values all, const RuleParams& params) {
    const Values d = all.first(std::min(all.size(), params.n_max));
    EProcess accept(params.theta0, Side::at_most, params.betting);
    EProcess reject(params.theta0 + params.delta_w, Side::at_least, params.betting);
    EProcess regression(params.theta0, Side::at_least, params.betting);
    const Budget budget =
        budget_of(params.rule, params.n_planned > 0 ? params.n_planned : params.n_max);
    const double accept_at = std::log(1 / (budget.evidence * params.alpha));
    const double reject_at = std::log(2 / params.beta);

    RuleOutcome outcome;
    outcome.why = "need_more_pairs";
    outcome.log_e_accept = params.prior_log_e_accept;
    outcome.log_e_reject = params.prior_log_e_reject;
    std::vector<double> scales;
    bool slower = false;
    while (outcome.n_pairs < d.size() && outcome.decision == Decision::inconclusive) {
        const std::size_t n = outcome.n_pairs++;
        scales.push_back(bet_scale(d.first(n), params.sigma0, params.betting));
        outcome.log_e_accept = accept.add(d[n], scales[n]) + params.prior_log_e_accept;
        outcome.log_e_reject = reject.add(d[n], scales[n]) + params.prior_log_e_reject;
        outcome.log_e_regression = regression.add(d[n], scales[n]);
        slower |= outcome.log_e_regression >= reject_at;
        const bool may_decide = outcome.n_pairs >= first_decision(params);
        if (may_decide && outcome.log_e_accept >= accept_at)
            outcome.decision = Decision::accept;
        else if (may_decide && outcome.log_e_reject >= reject_at)
            outcome.decision = Decision::reject;
        if (outcome.decision != Decision::inconclusive) {
            outcome.why = "early_e";
        } else if (accepts_at_look(d.first(n + 1), params, budget)) {
            outcome.decision = Decision::accept;
            outcome.why = "interim";
        }
    }
    const Values seen = d.first(outcome.n_pairs);
    if (outcome.decision == Decision::inconclusive && d.size() == params.n_max)
        look_at_cap(outcome, seen, params, budget.cap);
    if (outcome.decision == Decision::reject)
        outcome.sub = slower ? "regression" : "no_worthwhile_gain";
    if (!params.estimate) return outcome;
    outcome.hl = hodges_lehmann_estimate(seen);
    outcome.bounds = confidence_bounds(seen, scales, params.cs_alpha, params.betting);
    return outcome;
}

GuardOutcome decide_guard(Values d, double sigma0, double margin, double alpha_guard, double beta,
                          const Betting& betting) {
    const std::vector<double> scales = bet_scales(d, sigma0, betting);
    const auto pass = log_e_path(d, scales, -margin, Side::at_most, betting);
    const auto fail = log_e_path(d, scales, -margin, Side::at_least, betting);
    GuardOutcome outcome;
    for (std::size_t n = 0; n < d.size() && outcome.state == GuardState::open; ++n) {
        outcome.n_pairs = n + 1;
        outcome.log_e_pass = pass[n];
        outcome.log_e_fail = fail[n];
        if (pass[n] >= std::log(1 / alpha_guard))
            outcome.state = GuardState::pass;
        else if (fail[n] >= std::log(2 / beta))
            outcome.state = GuardState::fail;
    }
    return outcome;
}

EquivalenceOutcome decide_equivalent(Values d, double sigma0, double margin, double alpha,
                                     const Betting& betting) {
    const std::vector<double> scales = bet_scales(d, sigma0, betting);
    const auto above = log_e_path(d, scales, -margin, Side::at_most, betting);
    const auto below = log_e_path(d, scales, margin, Side::at_least, betting);
    const double threshold = std::log(1 / alpha);
    EquivalenceOutcome outcome;
    for (std::size_t n = 0; n < d.size() && !outcome.shown; ++n) {
        outcome.n_pairs = n + 1;
        outcome.log_e_above = std::max(outcome.log_e_above, above[n]);
        outcome.log_e_below = std::max(outcome.log_e_below, below[n]);
        outcome.shown = outcome.log_e_above >= threshold && outcome.log_e_below >= threshold;
    }
    return outcome;
}

double mde95(double sigma_d, double n_max, double k) { return k * sigma_d / std::sqrt(n_max); }

double pairs_needed(double sigma_d, double effect, double k) {
    const double ratio = k * sigma_d / effect;
    return std::ceil(ratio * ratio * (1 - 1e-12));  // 70.00000000000001² must not become 4901
}

}  // namespace steady
