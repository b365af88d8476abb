// The stopping rule of one gate, from pair values alone: accept when "effect ≤ theta0" is refuted,
// reject when "effect ≥ theta0 + delta_w" is. The sequential evidence and the exact looks share
// each error budget. Guards and equivalence use the same evidence with other hypotheses.
#pragma once

#include <optional>
#include <string>

#include "runner/statistics/evidence.h"

namespace steady {

// Rules that verdicts were made by. A record holds the number of its rule, so that it gives the
// same verdict for ever; experiments that begin now take the latest.
//   1: half of alpha for the evidence, half for one exact look at the cap.
//   2: 15 % for the evidence, 20 % for a look at 9 pairs, 45 % for looks at 30, 60, 120 … pairs
//      before the cap, the rest at the cap.
//   3: stops as 2 does. The check for two groups of pairs also looks along the pairs' own speed.
//   4: as 3. Evidence of earlier attempts decides with at least nine pairs of this one, so that a
//      verdict has an interval and an effect of its own.
constexpr int kFirstRule = 1, kLatestRule = 4;
constexpr int kGroupsBySpeedRule = 3, kOwnPairsRule = 4;  // from here on

// How a rule divides alpha. The shares add up to 1, so the union bound keeps false accepts ≤ alpha.
struct Look {
    std::size_t n_pairs = 0;
    double share = 0;
};
struct Budget {
    double evidence = 0.5, cap = 0.5;  // shares
    std::vector<Look> looks;           // before the cap, ascending
};
// n_planned: the cap in the plan, fixed before the first pair.
Budget budget_of(int rule, std::size_t n_planned);

struct RuleParams {
    int rule = kFirstRule;
    std::size_t n_planned = 0;  // 0: n_max, which is smaller when planned pairs could not be used
    double sigma0 = 0.01;       // log ratio; the host's A/A spread
    double alpha = 0.01;        // false accepts
    double beta = 0.05;         // false rejects of an effect worth having
    double theta0 = 0;          // floor, log effect
    double delta_w = 0.01;      // smallest gain worth having, log effect
    std::size_t n_max = 50;
    double cs_alpha = 0.05;
    bool final_look = true;         // a later attempt at the same question has none
    double prior_log_e_accept = 0;  // sums over earlier attempts at the same question
    double prior_log_e_reject = 0;
    bool estimate = true;  // false skips hl and bounds: simulations need the decision alone
    Betting betting;
};

enum class Decision { accept, reject, inconclusive };

// Values at the stopping pair, which is the first where a threshold is reached.
struct RuleOutcome {
    Decision decision = Decision::inconclusive;
    std::string sub;  // regression, no_worthwhile_gain, or empty
    std::string why;  // early_e, interim, need_more_pairs, cap, final
    std::size_t n_pairs = 0;
    double log_e_accept = 0, log_e_reject = 0, log_e_regression = 0;
    std::optional<double> final_p_accept, final_p_reject;
    double hl = kUndefined;  // Hodges–Lehmann, log effect
    Bounds bounds;           // confidence sequence
};

// d: valid pair values in order; values beyond n_max are not looked at.
RuleOutcome decide_gain(Values d, const RuleParams& params);

enum class GuardState { open, pass, fail };

struct GuardOutcome {
    GuardState state = GuardState::open;
    std::size_t n_pairs = 0;  // where it was settled, else all
    double log_e_pass = 0, log_e_fail = 0;
};

// Non-inferiority: pass when "worse by ≥ margin" is refuted at ln(1/alpha_guard) (latched), fail
// when "effect ≥ −margin" is refuted at ln(2/beta). Whichever comes first stays.
GuardOutcome decide_guard(Values d, double sigma0, double margin, double alpha_guard, double beta,
                          const Betting& betting = {});

// "Equal within ± margin": both one-sided hypotheses refuted at ln(1/alpha), each latched.
struct EquivalenceOutcome {
    bool shown = false;
    std::size_t n_pairs = 0;
    double log_e_above = 0, log_e_below = 0;  // maxima so far
};
EquivalenceOutcome decide_equivalent(Values d, double sigma0, double margin, double alpha,
                                     const Betting& betting = {});

// Smallest effect found with 95 % power within n_max pairs: k·sigma_d/√n_max (log effect).
double mde95(double sigma_d, double n_max, double k = 5);
// Pairs needed for an effect at 95 % power: ⌈(k·sigma_d/effect)²⌉.
double pairs_needed(double sigma_d, double effect, double k = 5);

}  // namespace steady
