// One metric of a recorded trial: its pair values and what the evidence makes of them.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "runner/statistics/stopping_rule.h"

namespace steady {

// The rule of a replay: the product's, with the spreads of that journal's own measurements.
struct ReplayRule {
    double alpha = 0.01, beta = 0.05, delta_w = 0.01;
    Betting betting;

    RuleParams params(double sigma_d) const;
};

// source: the corpus' replay_rule; missing keys keep the product's constants.
ReplayRule replay_rule(const nlohmann::json& source);

struct ReplayedMetric {
    std::string name;
    std::size_t n_pairs = 0;
    std::vector<double> d;          // log ratios, + is faster; empty when runs cannot be paired
    std::optional<double> sigma_d;  // known spread of a pair of this metric
    double mean_log = 0, e_faster = 1, e_slower = 1, pairs_for_power = 0;
    nlohmann::json fields;  // as the corpus writes them
};

// Absent when the metric holds no numbers of both arms, or is an exact count.
std::optional<ReplayedMetric> replay_metric(const nlohmann::json& metric, const ReplayRule& rule);

// Tokens of one short run, last over first above 1.10.
bool tokens_drift(const nlohmann::json& metric);

}  // namespace steady
