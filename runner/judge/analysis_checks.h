// The assumption checks that are shown with every experiment. Only the audit of the random order
// can change a verdict (to invalid); the others inform the reader, because validity follows from
// the random order alone.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runner/judge/analysis.h"
#include "runner/judge/analysis_pairs.h"

namespace steady {

// Every pair's coins follow from the seed, and A and B came first about equally often (inside the
// binomial 99.9 % range over the whole planned order). status fail otherwise.
Check coin_audit(const Spec& spec, const std::vector<Pair>& pairs, std::uint64_t seed);
// The first seed from this one on whose planned coins pass the audit: one in a thousand does not,
// and its experiment would be invalid before anything is measured.
std::uint64_t fair_seed(const Spec& spec, std::uint64_t seed);

// Does a slot run slower after B than after A? First token of each block, without its own arm's
// level, against the label of the slot before it. status flag when p < 0.01.
Check carry_over(const MeasuredPairs& measured, const std::string& metric,
                 const ScheduleSpec& schedule);

// Does B look better when it runs second? Hodges–Lehmann of d in AB minus BA units.
Check order_effect(const MeasuredPairs& measured, const std::string& metric,
                   const ScheduleSpec& schedule);

// Trend of d over the pair number, and its lag-1 autocorrelation.
Check pair_drift(const std::vector<double>& d);

// Two separate groups of d, further apart than three A/A spreads.
Check bimodality(const std::vector<double>& d, double sigma_aa);

// The same, or two groups along the pairs' own speed whose effects differ by more than `matters`
// (speed_groups). Since rule 3.
Check bimodality_by_speed(const std::vector<double>& d, const std::vector<double>& slowness,
                          double sigma_aa, double matters);

// Another program's counts: a pair of zero against more has no ratio. Empty when there is none.
std::optional<Check> zeros(const MeasuredPairs& measured, const std::string& metric);

// Share of pairs more than five spreads from the median.
Check outliers(const std::vector<double>& d);

}  // namespace steady
