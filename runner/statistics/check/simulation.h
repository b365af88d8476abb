// Operating characteristics of the verdict by simulation: how often each rule accepts at a known
// true effect, and with how many pairs. The noise models stand for four kinds of machine, from a
// quiet host to the recorded journal; every number follows from a seed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runner/statistics/stopping_rule.h"

namespace steady {

// ln t of one run = Student-t(4) noise + AR(1) drift + now and then an exponential spike.
struct NoiseModel {
    std::string name;
    double white = 0;        // sd of the t(4) part
    double drift = 0;        // stationary sd of the drift …
    double phi = 0;          // … and its correlation from run to run
    double spike_share = 0;  // runs hit by a spike
    double spike_mean = 0;   // log units
    double sigma0 = 0.01;    // robust spread of a pair, as A/A history would give it
};

// Q (quiet, token-interleaved), S (as Q, spread of a pair 0.5 %), M1, M2 (shared machines), J (the
// recorded journal).
std::vector<NoiseModel> noise_models();
// Throws Error listing the choices.
NoiseModel noise_model(const std::string& name);

// Pair values of n pairs in coin-drawn order; effect: true log speed-up of the candidate.
std::vector<double> simulate_pairs(const NoiseModel& model, double effect, std::size_t n,
                                   std::uint64_t seed);

struct OperatingPoint {
    std::string model;
    double effect = 0, delta_w = 0;
    std::size_t n_max = 0, n_experiments = 0;
    int rule = kFirstRule;
    std::size_t n_accept_within_30 = 0;  // pairs
    std::size_t n_accept = 0, n_reject = 0, n_inconclusive = 0;
    double mean_pairs = 0;
};

// Experiment e of a cell uses seed + e.
OperatingPoint simulate(const NoiseModel& model, double effect, const RuleParams& params,
                        std::size_t n_experiments, std::uint64_t seed);

// The whole table: each model at 0, 0.5, 1, 2 and 5 % (J also with a worth of 10 %).
std::vector<OperatingPoint> operating_table(int rule, std::size_t n_experiments,
                                            std::uint64_t seed);
std::string operating_text(const std::vector<OperatingPoint>& points, std::uint64_t seed);

}  // namespace steady
