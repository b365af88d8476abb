// Evidence that stays valid when it is checked after every pair: an e-process bets on the sign of
// each pair, and its wealth E reaches 1/a with probability at most a when the tested hypothesis is
// true. Only the random order of each pair is needed; no distribution is assumed. Proof and
// constants: runner/statistics/README.md.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "runner/statistics/statistics.h"

namespace steady {

struct Betting {
    std::vector<double> etas{0.25, 0.5, 1, 2};  // uniform mixture of bet sizes
    double clip = 1.5;                          // a spike counts as this many scales
    double cap = 0.98;                          // share of the wealth put at risk at most
    double prior_n = 4;                         // pairs' worth of trust in sigma0
};

// side +1 tests "effect ≤ theta", side −1 tests "effect ≥ theta".
enum class Side { at_most = 1, at_least = -1 };

// scale_i: predictable spread of pair i, from sigma0 and the pairs before it only.
// d: pair values, log ratios. sigma0 > 0: the host's own A/A spread.
std::vector<double> bet_scales(Values d, double sigma0, const Betting& betting = {});
double bet_scale(Values before, double sigma0, const Betting& betting);

// The wealth of one hypothesis' opponent, pair by pair.
class EProcess {
public:
    EProcess(double theta, Side side, const Betting& betting);
    // ln E after this pair too.
    double add(double d, double scale);

private:
    double theta_;
    Side side_;
    const Betting* betting_;
    std::vector<double> log_wealth_;  // one per eta
};

// ln E after each pair, for scales from bet_scales.
std::vector<double> log_e_path(Values d, Values scales, double theta, Side side,
                               const Betting& betting = {});
// Its last value; 0 without pairs.
double log_e(Values d, Values scales, double theta, Side side, const Betting& betting = {});

struct Bounds {
    std::optional<double> low, high;  // log effect; absent: unbounded
};

// 1 − a confidence bounds after these pairs: every effect between them has never been refuted at
// ln(2/a), at any number of pairs. Valid wherever one stops. Searched on ±farthest by 60
// bisections; a bound beyond that is absent.
Bounds confidence_bounds(Values d, Values scales, double a = 0.05, const Betting& betting = {},
                         double farthest = 1);

// The same after each pair, to 2e-9: how the interval narrowed.
std::vector<Bounds> confidence_sequence(Values d, Values scales, double a = 0.05,
                                        const Betting& betting = {}, double farthest = 1);

// Mean of the final E over all 2^n sign patterns of theta ± abs_d: exactly 1, which is the proof
// of validity. Throws Error above 22 values.
double mean_e_over_sign_flips(Values abs_d, double theta, double sigma0, Side side = Side::at_most,
                              const Betting& betting = {});

}  // namespace steady
